package index

import (
	"bytes"
	"container/heap"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// found is one index row: its place in the order of results, and its value.
type found struct {
	order   [layout.OrderLen]byte // inverted time, id; results come in ascending order
	flagged bool
	value   int16             // that of valueOf for the range
	row     layout.Row        // of a row that is not flagged
	memory  layout.FlaggedRow // of a flagged row
}

func (f *found) cases() layout.Cases { return f.row.Cases | f.memory.Cases }
func (f *found) time() int64         { return layout.TimeOf(f.order) }
func (f *found) id() nostr.ID        { return nostr.ID(f.order[8:]) }

// scan merges the index ranges of a query over one iterator. Each range reads ahead in chunks that grow as rows are taken from it, so that a
// filter with hundreds of values neither needs as many iterators nor reads all ranges to the end.
type scan struct {
	it     *pebble.Iterator // nil where no range has a row
	since  int64
	work   *work
	heap   cursors
	last   *cursor // the one in whose range the iterator is
	budget int     // rows that a chunk may have at most
	prev   found
	any    bool // prev is set

	// floor is where to go on: no row before can be an answer. Flagged rows have a place of their own.
	floor [2][layout.OrderLen]byte
}

// cursor is the place in one range.
type cursor struct {
	prefix  []byte
	cases   layout.Cases
	flagged bool
	value   int16
	next    [layout.OrderLen]byte // where to go on
	rows    []found
	pos     int
	chunk   int
	done    bool
}

const (
	firstChunk  = 8
	chunkBudget = 8 << 10 // rows that all ranges read ahead together
)

// newScan opens ranges from the query's until and first on; with withFlagged also their flagged twins.
func (r Reader) newScan(ctx context.Context, q *query, spans []keyRange, withFlagged bool) (s *scan, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s = &scan{since: q.since, work: r.work}
	s.heap = beginnings(r, q, spans, withFlagged)
	if len(s.heap) == 0 {
		return s, nil
	}
	if s.it, err = r.From.NewIter(nil); err != nil {
		return nil, err
	}
	s.budget = max(1, chunkBudget/len(s.heap))
	live := s.heap[:0]
	for _, c := range s.heap {
		c.chunk = min(firstChunk, s.budget)
		if err := s.fill(ctx, c); err != nil {
			s.it.Close()
			return nil, err
		}
		if c.pos < len(c.rows) {
			live = append(live, c)
		}
	}
	s.heap = live
	heap.Init(&s.heap)
	return s, nil
}

// beginnings returns cursors at the beginnings of the ranges that may have rows.
func beginnings(r Reader, q *query, spans []keyRange, withFlagged bool) (all cursors) {
	start := layout.OrderOf(q.until, nostr.ID{})
	if bytes.Compare(start[:], q.first[:]) < 0 {
		start = q.first
	}
	add := func(p keyRange, flagged bool, value int16) {
		if !r.Sketch.Lacks(p.prefix) {
			all = append(all, &cursor{prefix: p.prefix, cases: p.cases, flagged: flagged, value: value, next: start})
		}
	}
	for _, p := range spans {
		value := q.valueOf(p.prefix)
		add(p, false, value)
		if withFlagged {
			add(p.flagged(), true, value)
		}
	}
	return all
}

// fill reads the next chunk of a range.
func (s *scan) fill(ctx context.Context, c *cursor) error {
	c.rows, c.pos = c.rows[:0], 0
	if c.done {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.work.spend(SeekCost); err != nil {
		return err
	}
	s.seek(c)
	for ; len(c.rows) < c.chunk; s.it.Next() {
		f, ok, err := s.read(c)
		if err != nil || !ok {
			c.done = true
			return err
		}
		if f.cases().Meets(c.cases) {
			c.rows = append(c.rows, f)
		} else if err := s.work.spend(1); err != nil {
			return err
		}
	}
	if next, ok := s.row(c); ok {
		copy(c.next[:], next)
	} else {
		c.done = true
	}
	c.chunk = min(2*c.chunk, s.budget)
	return s.it.Error()
}

// seek brings the iterator to the place where the range goes on.
func (s *scan) seek(c *cursor) {
	floor := &s.floor[flag(c.flagged)]
	if bytes.Compare(c.next[:], floor[:]) < 0 {
		c.next, c.chunk = *floor, min(firstChunk, s.budget) // rows that are skipped were not worth reading ahead
	} else if s.last == c {
		return
	}
	s.it.SeekGE(append(bytes.Clone(c.prefix), c.next[:]...))
	s.last = c
}

func flag(flagged bool) int {
	if flagged {
		return 1
	}
	return 0
}

// row returns the order of the row under the iterator, if that row belongs to the range.
func (s *scan) row(c *cursor) ([]byte, bool) {
	if !s.it.Valid() {
		return nil, false
	}
	order, ok := bytes.CutPrefix(s.it.Key(), c.prefix)
	return order, ok && len(order) == layout.OrderLen
}

// read returns the row under the iterator, if it belongs to the range and is not too old.
func (s *scan) read(c *cursor) (found, bool, error) {
	f := found{flagged: c.flagged, value: c.value}
	order, ok := s.row(c)
	if !ok {
		return f, false, s.it.Error()
	}
	copy(f.order[:], order)
	if f.time() < s.since {
		return f, false, nil
	}
	v, err := s.it.ValueAndErr()
	if err != nil {
		return f, false, err
	}
	if c.flagged {
		f.memory, err = layout.ParseFlaggedRow(v)
	} else {
		f.row, err = layout.ParseRow(v)
	}
	if err != nil {
		err = fmt.Errorf("index %q: %w", c.prefix[:1], err)
	}
	return f, err == nil, err
}

// step returns the next row in the order of results, each event once; false at the end.
func (s *scan) step(ctx context.Context) (found, bool, error) {
	for len(s.heap) > 0 {
		if err := s.work.spend(1); err != nil {
			return found{}, false, err
		}
		c := s.heap[0]
		f := c.rows[c.pos]
		if c.pos++; c.pos == len(c.rows) {
			if err := s.fill(ctx, c); err != nil {
				return f, false, err
			}
		}
		if c.pos < len(c.rows) {
			heap.Fix(&s.heap, 0)
		} else {
			heap.Pop(&s.heap)
		}
		same := s.any && f.order == s.prev.order && f.flagged == s.prev.flagged
		if same || bytes.Compare(f.order[:], s.floor[flag(f.flagged)][:]) < 0 {
			continue
		}
		s.prev, s.any = f, true
		return f, true, nil
	}
	return found{}, false, nil
}

// skip takes note that no row before that place is an answer.
func (s *scan) skip(flagged bool, to [layout.OrderLen]byte) { s.floor[flag(flagged)] = to }

func (s *scan) close() error {
	if s.it == nil {
		return nil
	}
	return s.it.Close()
}

// cursors is a heap by the order of results.
type cursors []*cursor

func (h cursors) Len() int      { return len(h) }
func (h cursors) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h cursors) Less(i, j int) bool {
	a, b := &h[i].rows[h[i].pos], &h[j].rows[h[j].pos]
	return bytes.Compare(a.order[:], b.order[:]) < 0
}

// Push is unused: ranges are all there from the start.
func (h *cursors) Push(any) {}

// Pop drops the last cursor, which is at its end.
func (h *cursors) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}
