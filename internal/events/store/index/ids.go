package index

import (
	"bytes"
	"context"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// runIDs answers a filter that names ids, by looking each up.
func (r Reader) runIDs(ctx context.Context, q *query, withFlagged bool, do func(*found) (more bool, err error)) (err error) {
	q.checkKind = q.kinds != nil
	q.checkEvent = q.filter.Authors != nil || len(q.tags) > 0
	all := make([]found, 0, len(q.ids))
	it, err := r.From.NewIter(&pebble.IterOptions{LowerBound: []byte{layout.TableID}, UpperBound: []byte{layout.TableID + 1}})
	if err != nil {
		return err
	}
	defer CloseAfter(it.Close, &err)
	for _, id := range slices.Backward(q.ids) { // forward, the iterator would step over some ids before it searches, mostly in vain
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.work.spend(SeekCost); err != nil {
			return err
		}
		f, ok, err := r.find(it, id, withFlagged)
		if err != nil {
			return err
		}
		if ok && q.since <= f.time() && f.time() <= q.until && r.shows(q, &f, withFlagged) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b found) int { return bytes.Compare(a.order[:], b.order[:]) })
	for i := range all {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if more, err := do(&all[i]); err != nil || !more {
			return err
		}
	}
	return nil
}

// find looks an id up among the stored events and, with withFlagged, the remembered ones.
func (r Reader) find(it *pebble.Iterator, id nostr.ID, withFlagged bool) (found, bool, error) {
	if it.SeekPrefixGE(layout.IDKey(layout.TableID, id)) {
		v, err := it.ValueAndErr()
		if err != nil {
			return found{}, false, err
		}
		time, at, err := layout.ParseIDRow(v)
		return found{order: layout.OrderOf(time, id), row: at}, err == nil, err
	}
	if err := it.Error(); err != nil || !withFlagged {
		return found{}, false, err
	}
	rec, ok, err := r.Record(id)
	if !ok || err != nil {
		return found{}, false, err
	}
	return found{order: layout.OrderOf(rec.Time, id), flagged: true, memory: rec.Row()}, true, nil
}
