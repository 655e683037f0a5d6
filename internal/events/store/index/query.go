package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Row is one stored event in the answer of a query.
type Row struct {
	Seq  layout.Seq
	ID   nostr.ID
	Time int64
	JSON []byte // as it is sent; valid until the next step of the iteration
}

// Event parses the row. The event shares no memory with the row.
func (r Row) Event() (*nostr.Event, error) { return nostr.ParseEvent(r.JSON) }

// Pair is the time and the id of an event, which a reconciliation (NIP-77) compares.
type Pair struct {
	Time int64
	ID   nostr.ID
}

// Compare compares pairs, for the order in which queries yield them.
func (p Pair) Compare(o Pair) int { return cmp.Or(cmp.Compare(o.Time, p.Time), p.ID.Compare(o.ID)) }

// Query does what store.View.Query says, on this state.
func (r Reader) Query(ctx context.Context, f nostr.Filter) iter.Seq2[Row, error] {
	return sequence("query", func(yield func(Row, error) bool) error { return r.begun().rows(ctx, newQuery(f), yield) })
}

func (r Reader) rows(ctx context.Context, q *query, yield func(Row, error) bool) (err error) {
	w := newWindow(r, q, yield)
	defer CloseAfter(w.close, &err)
	q.pause = w.flush
	return r.run(ctx, q, false, w.add)
}

// Pairs does what store.View.Pairs says, on this state.
func (r Reader) Pairs(ctx context.Context, f nostr.Filter, flagged bool) iter.Seq2[Pair, error] {
	return sequence("query pairs", func(yield func(Pair, error) bool) error {
		r, q := r.begun(), newQuery(f)
		n := 0
		return r.run(ctx, q, flagged, func(at *found) (bool, error) {
			ok, err := r.meets(q, at)
			if err != nil || !ok {
				return true, err
			}
			n++
			return yield(Pair{at.time(), at.id()}, nil) && n < q.limit, nil
		})
	})
}

// run calls do with the rows that match by the indexes, in the order of results, until do wants no more.
func (r Reader) run(ctx context.Context, q *query, withFlagged bool, do func(*found) (more bool, err error)) error {
	defer r.work.end()
	if r.work != nil {
		r.work.pause = q.pause
	}
	if q.empty() {
		return nil
	}
	err := r.runAny(ctx, q, withFlagged, do)
	if err == nil && q.pause != nil {
		_, err = q.pause()
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (r Reader) runAny(ctx context.Context, q *query, withFlagged bool, do func(*found) (more bool, err error)) error {
	if q.filter.IDs != nil {
		return r.runIDs(ctx, q, withFlagged, do)
	}
	if err := r.choose(ctx, q, withFlagged); err != nil {
		return err
	}
	return r.runScan(ctx, q, withFlagged, do)
}

func (r Reader) runScan(ctx context.Context, q *query, withFlagged bool, do func(*found) (more bool, err error)) (err error) {
	s, err := r.newScan(ctx, q, q.driver.spans, withFlagged)
	if err != nil {
		return err
	}
	defer CloseAfter(s.close, &err)
	p, err := newProbe(r.From, q.others)
	if err != nil {
		return err
	}
	defer CloseAfter(p.close, &err)
	var at found // one for all rows: whoever keeps a row copies it
	for {
		var ok bool
		if at, ok, err = s.step(ctx); err != nil || !ok {
			return err
		}
		if !r.shows(q, &at, withFlagged) {
			continue
		}
		ok, next, err := p.has(&at, r.work)
		if err != nil {
			return err
		}
		if !ok {
			s.skip(at.flagged, next)
			continue
		}
		more, err := do(&at)
		if err != nil || !more {
			return err
		}
	}
}

// shows reports whether a row may be in the answer, by what the row alone tells: kind, expiration and rules.
func (r Reader) shows(q *query, at *found, withFlagged bool) bool {
	if at.flagged {
		return q.wantsKind(at.memory.Kind) && (at.memory.Epoch == 0 || at.memory.Epoch == r.Epoch)
	}
	// An expired event that is not swept yet counts as remembered: nobody should send it again.
	return q.wantsKind(at.row.Kind) && (withFlagged || !at.row.Expired(r.Now))
}

// cost returns how many steps it takes to open a stored event.
func (q *query) cost() int {
	if q.checkEvent {
		return eventCost
	}
	return SeekCost
}

// open reads a stored event, unless the caller has its entry, and checks the rest of the filter.
func (r Reader) open(q *query, at *found, entry []byte) (Row, bool, error) {
	if len(entry) == 0 {
		v, ok, err := Get(r.From, layout.LogKey(at.row.Seq))
		if err != nil {
			return Row{}, false, err
		}
		if !ok {
			return Row{}, false, fmt.Errorf("entry %d is indexed and not there: %w", at.row.Seq, layout.ErrCorrupt)
		}
		entry = v
	}
	_, json, err := layout.ParseLog(entry)
	if err != nil {
		return Row{}, false, err
	}
	if len(json) > windowBytes {
		r.work.add(len(json) / largeStep)
	}
	row := Row{Seq: at.row.Seq, ID: at.id(), Time: at.time(), JSON: json}
	if q.checkEvent {
		e, err := row.Event()
		if err != nil {
			return Row{}, false, fmt.Errorf("entry %d: %w: %w", row.Seq, layout.ErrCorrupt, err)
		}
		return row, q.filter.Matches(e), nil
	}
	return row, true, nil
}

// meets checks the rest of the filter. It reads the event, or what is remembered of it, only where it needs to.
func (r Reader) meets(q *query, at *found) (bool, error) {
	if at.flagged && at.memory.Why == policy.Expired {
		if err := r.work.spend(SeekCost); err != nil {
			return false, err
		}
		if rec, ok, err := r.Record(at.id()); err != nil || !ok || !r.remembers(rec) {
			return false, err
		}
	}
	if !q.checkEvent {
		return true, nil
	}
	if err := r.work.spend(eventCost); err != nil {
		return false, err
	}
	if !at.flagged {
		_, ok, err := r.open(q, at, nil)
		return ok, err
	}
	rec, ok, err := r.Record(at.id())
	return ok && q.matches(rec.Facts), err
}
