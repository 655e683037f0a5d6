package index

import (
	"bytes"
	"cmp"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/layout"
)

const (
	firstWindow = 8
	maxWindow   = 32
	windowBytes = 256 << 10 // bytes read ahead at once, and the event that exceeds these; no larger event is read ahead
	largeStep   = 512       // bytes of a larger event that count as a step of work
	nearby      = 4         // entries of the log over which an iterator steps before it searches
)

// window has what a query found and has not yielded yet. It reads its events together, in the order of the log, where events that came at about
// one time stand side by side: to look each up by itself costs several times as much.
type window struct {
	*pane
	r     Reader
	q     *query
	it    *pebble.Iterator // over the log; nil before the first read
	size  int              // rows that it may hold now
	yield func(Row, error) bool
	left  int // rows that the answer may still have
}

// pane is the memory of a window, which another query uses afterwards.
type pane struct {
	rows  []found
	place []extent // where the events of rows stand in json
	order []int    // rows by their place in the log
	json  []byte
}

var panes = sync.Pool{New: func() any { return new(pane) }}

// extent says where an event stands in the bytes of a window. With end 0 it was not read.
type extent struct{ start, end int }

func newWindow(r Reader, q *query, yield func(Row, error) bool) *window {
	return &window{pane: panes.Get().(*pane), r: r, q: q, size: firstWindow, yield: yield, left: q.limit}
}

// add takes one row, and reports whether more are wanted.
func (w *window) add(at *found) (more bool, err error) {
	w.rows = append(w.rows, *at)
	if len(w.rows) < min(w.size, w.left) {
		return true, nil
	}
	w.size = min(2*w.size, maxWindow)
	return w.flush()
}

// flush yields the rows, and reports whether more are wanted. The meter hears of them only afterwards, as it may wait.
func (w *window) flush() (more bool, err error) {
	if err := w.read(); err != nil {
		return false, err
	}
	rows := w.rows
	w.rows = w.rows[:0]
	for i := range rows {
		row, ok, err := w.r.open(w.q, &rows[i], w.json[w.place[i].start:w.place[i].end])
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		if w.left--; !w.yield(row, nil) || w.left == 0 {
			w.r.work.add(w.q.cost() * (i + 1))
			return false, nil
		}
	}
	return true, w.r.work.spend(w.q.cost() * len(rows))
}

// read reads the events of the rows, as far as these are not too large. flush looks for an event that read has left out or not found when the
// event's turn comes.
func (w *window) read() (err error) {
	w.json, w.order = w.json[:0], w.order[:0]
	w.place = append(w.place[:0], make([]extent, len(w.rows))...)
	if len(w.rows) < 2 {
		return nil
	}
	if w.it == nil {
		if w.it, err = w.r.From.NewIter(&pebble.IterOptions{LowerBound: []byte{layout.TableLog}, UpperBound: []byte{layout.TableLog + 1}}); err != nil {
			return err
		}
	}
	for i := range w.rows {
		w.order = append(w.order, i)
	}
	slices.SortFunc(w.order, func(a, b int) int { return cmp.Compare(w.rows[a].row.Seq, w.rows[b].row.Seq) })
	for rest := w.order; len(rest) > 0; {
		run := w.lastRun(rest)
		for _, i := range run {
			if len(w.json) > windowBytes {
				return nil
			}
			if err := w.readOne(i); err != nil {
				return err
			}
		}
		rest = rest[:len(rest)-len(run)]
	}
	return w.it.Error()
}

// lastRun returns the last of the rows that stand near each other in the log. Runs are read from the last to the first, and the rows of a run
// forward: when an iterator is told to go forward it first steps over some entries, which leads into another block of the log in vain where the
// next row is far, and saves a search where it is near.
func (w *window) lastRun(order []int) []int {
	from := len(order) - 1
	for from > 0 && w.rows[order[from]].row.Seq-w.rows[order[from-1]].row.Seq <= nearby {
		from--
	}
	return order[from:]
}

// readOne reads the event of one row.
func (w *window) readOne(i int) error {
	key := layout.LogKey(w.rows[i].row.Seq)
	if !w.it.SeekPrefixGE(key) || !bytes.Equal(w.it.Key(), key) {
		return w.it.Error()
	}
	v, err := w.it.ValueAndErr()
	if err != nil || len(v) > windowBytes {
		return err
	}
	start := len(w.json)
	w.json = append(w.json, v...)
	w.place[i] = extent{start, len(w.json)}
	return nil
}

// close closes the window. The bytes of rows that it yielded are not valid any more.
func (w *window) close() error {
	if w.rows = w.rows[:0]; cap(w.json) <= 2*windowBytes {
		panes.Put(w.pane)
	}
	w.pane = nil
	if w.it == nil {
		return nil
	}
	return w.it.Close()
}
