package store

import (
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/index"
	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
)

// ExpireDue removes up to max events that have expired (NIP-40) by now, the longest expired first. It says how many,
// and when the next one is due: at once where there are more, the zero time where none expires at all.
func (b *Batch) ExpireDue(now time.Time, max int) (next time.Time, n int, err error) {
	ids, from, err := b.timed(layout.TableExpiry, b.expireFrom, now.Unix(), max)
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

// QuietUntil returns a unix time before which nothing stored expires, the largest number where nothing does at all. It
// reads nothing. Only the goroutine that begins batches may call it, while none is open.
func (s *Store) QuietUntil() int64 { return s.expireFrom }

// timed lists up to max ids of a table in order of time that are due from `from` (nothing is before) until then, and
// the time of the first that is left, the largest number where none is. Starting where the last one ended spares the
// iterator the tombstones of what was taken before.
func (b *Batch) timed(table byte, from, until int64, max int) (ids []nostr.ID, next int64, err error) {
	it, err := b.w.NewIter(&pebble.IterOptions{LowerBound: layout.TimedKey(table, from, nostr.ID{}), UpperBound: []byte{table + 1}})
	if err != nil {
		return nil, from, err
	}
	defer index.CloseAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		at, id, ok := layout.ParseTimedKey(it.Key())
		if !ok {
			return nil, from, fmt.Errorf("table %q: %w", table, layout.ErrCorrupt)
		}
		if at > until || len(ids) == max {
			return ids, at, nil
		}
		ids = append(ids, id)
	}
	return ids, math.MaxInt64, it.Error()
}
