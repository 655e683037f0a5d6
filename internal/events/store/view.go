package store

import (
	"context"
	"iter"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// View is one durable state of the store, which later commits do not change. Several goroutines may use one View. A View holds disk space
// that could be freed, so close it soon.
type View struct {
	lookups
	s     *Store
	st    *state
	meter index.Meter // nil for none
}

// Unknown reports that an id is certainly neither stored nor remembered. Unknown looks in memory alone: where it returns false, ask a View.
func (s *Store) Unknown(id nostr.ID) bool {
	return s.sketch.Unknown(id)
}

// View returns the durable state of now. The caller closes it.
func (s *Store) View() *View { return newView(s, s.retain(), nil) }

func newView(s *Store, st *state, m index.Meter) *View {
	v := &View{s: s, st: st, meter: m}
	v.of = v
	return v
}

// Close gives the view back. Call it once, after all queries of the view have ended.
func (v *View) Close() {
	v.s.release(v.st)
	v.st = nil
}

// Head returns the number of the last entry in the view.
func (v *View) Head() layout.Seq { return v.st.counters.Head }

// Reader reads this state, for packages that mend a store. Whoever serves uses the methods of View.
func (v *View) Reader() index.Reader {
	r := index.Reader{From: v.st.snap, Epoch: v.st.epoch, Now: v.s.opt.Now().Unix(), Sketch: v.s.sketch}
	return r.Metered(v.meter)
}

// reads is for lookups.
func (v *View) reads() index.Reader { return v.Reader() }

// Counters returns the counters of every commit, for packages that mend a store, as Reader does.
func (v *View) Counters() layout.Counters { return v.st.counters }

// About yields the stored events that name one of the ids (tags e, E, q) or one of the addresses (tags a, A, q), or that stand at one of
// the addresses: each once, in the order of Query. About leaves out expired events. Errors are as of Query.
func (v *View) About(ctx context.Context, ids []nostr.ID, addresses []string) iter.Seq2[index.Row, error] {
	return v.Reader().About(ctx, ids, addresses)
}

// Count returns the number of stored events that match any of the filters, each counted once (NIP-45). Count leaves out expired events and
// ignores limits. Count holds nothing in memory but its place in each filter's answer.
func (v *View) Count(ctx context.Context, filters []nostr.Filter) (int, error) {
	return v.Reader().Count(ctx, filters)
}

// Marks yields the Pairs of what is stored and remembered, in the same order, and for each the value of the filter's only tag under which
// it stands; where it stands under several, one of them.
func (v *View) Marks(ctx context.Context, f nostr.Filter) iter.Seq2[index.Mark, error] {
	return v.Reader().Marks(ctx, f)
}

// Query yields the stored events that match the filter, newest first and the lowest id first within a second, at most filter.Limit. Query
// reads each range of an index only as far as the answer needs. Query leaves out expired events. An error is the last thing that Query
// yields: then what came before is not the whole answer. The end of ctx is such an error.
func (v *View) Query(ctx context.Context, f nostr.Filter) iter.Seq2[index.Row, error] {
	return v.Reader().Query(ctx, f)
}

// Events yields the same as Query, read as events.
func (v *View) Events(ctx context.Context, f nostr.Filter) iter.Seq2[*nostr.Event, error] {
	return func(yield func(*nostr.Event, error) bool) {
		for row, err := range v.Query(ctx, f) {
			var e *nostr.Event
			if err == nil {
				e, err = row.Event()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Pairs yields (time, id) of what matches the filter, in the order of Query and with the filter's limit. Pairs reads an event only where
// the indexes do not settle the filter. With flagged it also yields what is remembered without being stored. Of such events only the tags
// a, A, q, e, E and d are known, so they match no filter by other tags.
func (v *View) Pairs(ctx context.Context, f nostr.Filter, flagged bool) iter.Seq2[index.Pair, error] {
	return v.Reader().Pairs(ctx, f, flagged)
}

// Metered returns the same view with a meter on its queries. Close only one of the two.
func (v *View) Metered(m index.Meter) *View { return newView(v.s, v.st, m) }
