package store

import (
	"fmt"
	"math"
	"time"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ExpireDue removes up to max events that have expired (NIP-40) by now, the longest expired first, and none of which skip returns true. ExpireDue
// returns how many, and when the next one is due: at once where there are more, the zero time where none expires at all.
func (b *Batch) ExpireDue(now time.Time, max int, skip func(nostr.ID) bool) (next time.Time, n int, err error) {
	ids, from, err := b.timed(layout.TableExpiry, b.expireFrom, now.Unix(), max, skip)
	if err != nil {
		return next, 0, fmt.Errorf("expire: %w", err)
	}
	for _, id := range ids {
		if err := b.Remove(id, layout.ReasonExpired); err != nil {
			return next, n, fmt.Errorf("expire: %w", err)
		}
		n++
	}
	b.expireFrom = from
	if b.ops == 0 { // it holds for the store, whatever becomes of the batch
		b.s.expireFrom = from
	}
	if from != math.MaxInt64 {
		next = time.Unix(from, 0)
	}
	return next, n, nil
}

// QuietUntil returns a unix time before which nothing stored expires; the largest number where nothing expires at all. QuietUntil reads
// nothing from the disk. Only the goroutine that begins batches may call it, while none is open.
func (s *Store) QuietUntil() int64 { return s.expireFrom }
