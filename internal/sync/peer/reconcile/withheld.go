package reconcile

import (
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Withheld remembers the events that a relay showed in a reconciliation and gave neither by
// id nor in pages. For a week, no filter is paged for such events alone. A Withheld
// outlives connections. The zero Withheld remembers nothing.
type Withheld struct{ until map[nostr.ID]time.Duration }

const (
	withheldFor  = 7 * 24 * time.Hour
	MostWithheld = 10_000 // events; beyond, the relay is paged for the others in each full resync
)

// all reports whether all missing events are remembered, so that no pages are to be read for them.
func (w Withheld) all(missing map[nostr.ID]struct{}, now time.Duration) bool {
	for id := range missing {
		if now >= w.until[id] {
			return false
		}
	}
	return true
}

// Note remembers the events that are missing, where paged says that pages were read for them. Other
// events keep the time until which they are remembered.
func (w *Withheld) Note(missing map[nostr.ID]struct{}, paged bool, now time.Duration) {
	if !paged || len(missing) == 0 {
		return
	}
	if w.until == nil {
		w.until = make(map[nostr.ID]time.Duration)
	}
	for id, until := range w.until {
		if now >= until {
			delete(w.until, id)
		}
	}
	for id := range missing {
		if _, known := w.until[id]; known || len(w.until) < MostWithheld {
			w.until[id] = now + withheldFor
		}
	}
}

// Len returns how many events are remembered.
func (w Withheld) Len() int { return len(w.until) }
