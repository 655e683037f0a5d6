package plan

import (
	"time"

	"github.com/graspd/graspd/internal/nostr"
)

// withheld remembers what a relay showed in a reconciliation and gave neither by
// id nor in pages, and until when pages are not read again for that alone. It
// outlives connections.
type withheld map[nostr.ID]time.Duration

const (
	withheldFor  = 7 * 24 * time.Hour
	mostWithheld = 10_000 // more are looked for in each full resync
)

// all says whether there is nothing in missing that pages should be read for.
func (w withheld) all(missing map[nostr.ID]struct{}, now time.Duration) bool {
	for id := range missing {
		if now >= w[id] {
			return false
		}
	}
	return true
}

// note remembers what is missing after its pages were read. What was not looked
// for there keeps its time.
func (w *withheld) note(missing map[nostr.ID]struct{}, paged bool, now time.Duration) {
	if !paged || len(missing) == 0 {
		return
	}
	if *w == nil {
		*w = make(withheld)
	}
	for id, until := range *w {
		if now >= until {
			delete(*w, id)
		}
	}
	for id := range missing {
		if _, known := (*w)[id]; known || len(*w) < mostWithheld {
			(*w)[id] = now + withheldFor
		}
	}
}
