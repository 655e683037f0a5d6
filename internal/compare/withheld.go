package compare

import (
	"time"

	"github.com/graspd/graspd/internal/nostr"
)

// Withheld remembers what a relay showed in a reconciliation and gave neither by
// id nor in pages, and until when pages are not read again for that alone. It
// outlives connections. The zero value remembers nothing.
type Withheld struct{ until map[nostr.ID]time.Duration }

const (
	withheldFor  = 7 * 24 * time.Hour
	MostWithheld = 10_000 // more are looked for in each full resync
)

// all says whether there is nothing in missing that pages should be read for.
func (w Withheld) all(missing map[nostr.ID]struct{}, now time.Duration) bool {
	for id := range missing {
		if now >= w.until[id] {
			return false
		}
	}
	return true
}

// Note remembers what is missing after its pages were read. What was not looked
// for there keeps its time.
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

// Len is how much is remembered.
func (w Withheld) Len() int { return len(w.until) }
