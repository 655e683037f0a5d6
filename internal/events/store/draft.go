package store

import (
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// draft is what the parts of a Batch write together: keys, entries of the feed and counters, all of one commit.
type draft struct {
	s          *Store
	w          *pebble.Batch
	entries    []layout.Entry // for the feed, in order
	told       []string       // names of changed rows
	ops        int            // what was added, remembered, removed or forgotten, and rows that were set
	steps      int            // for Steps
	epoch      uint32         // of the rules
	counters   layout.Counters
	unfinished int // deletions of which not all is done; the reader looks for what they name
}

// Full reports whether the batch is as large as a usual one should be. The memory of a larger batch is not used again.
func (d *draft) Full() bool { return d.w.Len() >= maxReused-maxReused/16 }

// Len returns the number of things done in this batch.
func (d *draft) Len() int { return d.ops }

// reads is for lookups.
func (d *draft) reads() index.Reader { return d.reader() }

// Steps returns how much work was done in this batch, as Meter counts it; a row that is written or deleted counts 4. Lookups do not count.
func (d *draft) Steps() int { return d.steps }

func (d *draft) reader() index.Reader {
	return index.Reader{From: d.w, Epoch: d.epoch, Now: d.s.opt.Now().Unix(), Sketch: d.s.sketch, Memo: &d.s.memo, Unfinished: d.unfinished}
}

func (d *draft) set(key, value []byte) error {
	d.steps += index.SeekCost
	d.s.sketch.Wrote(key)
	d.s.memo.Wrote(key, value)
	return d.w.Set(key, value, nil)
}

func (d *draft) delete(key []byte) error {
	d.steps += index.SeekCost
	d.s.memo.Deleted(key)
	return d.w.Delete(key, nil)
}

func (d *draft) next() layout.Seq {
	d.counters.Head++
	return d.counters.Head
}

// dropEntry takes an event that came and went in this batch out of its feed.
func (d *draft) dropEntry(seq layout.Seq) {
	for i := len(d.entries) - 1; i >= 0 && d.entries[i].Seq >= seq; i-- {
		if d.entries[i].Seq == seq {
			d.entries = append(d.entries[:i], d.entries[i+1:]...)
			return
		}
	}
}

// timed lists up to max ids of a table in order of time, those due between `from` and until. It also returns the time of the first that is
// left, the largest number where none is. Nothing stands before `from`: the last call ended there, and starting there spares the iterator
// the tombstones of what was taken before. It passes over those of which skip returns true; a nil skip has none.
func (d *draft) timed(table byte, from, until int64, max int, skip func(nostr.ID) bool) (ids []nostr.ID, next int64, err error) {
	it, err := d.w.NewIter(&pebble.IterOptions{LowerBound: layout.TimedKey(table, from, nostr.ID{}), UpperBound: []byte{table + 1}})
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
		if skip == nil || !skip(id) {
			ids = append(ids, id)
		}
	}
	return ids, math.MaxInt64, it.Error()
}
