package live

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/itemset"
)

// Waiting is a lot that no live REQ asks for yet.
type Waiting struct {
	itemset.Lot
	After time.Duration // not before
	tries int
}

// Queue adds items to those that wait.
func (s *Side) Queue(l itemset.Lot) {
	for _, w := range s.waiting {
		if w.Alike(l) && w.After == 0 {
			w.Items = append(w.Items, l.Items...)
			return
		}
	}
	s.Requeue(l, 0, 0)
}

// Requeue has a lot wait that was refused so often, not to be asked for before a time.
func (s *Side) Requeue(l itemset.Lot, after time.Duration, tries int) {
	s.waiting = append(s.waiting, &Waiting{Lot: l, After: after, tries: tries})
}

// Waiting returns what waits. The slice is the caller's, and what is in it is only read.
func (s *Side) Waiting() []*Waiting { return slices.Clone(s.waiting) }

// Apart sets anew what keeps each lot that waits apart from others.
func (s *Side) Apart(of func(itemset.Lot) itemset.Apart) {
	for _, w := range s.waiting {
		w.Apart = of(w.Lot)
	}
}

// PutForward has what was to wait until a time wait until another one.
func (s *Side) PutForward(from, to time.Duration) {
	for _, w := range s.waiting {
		if w.After == from {
			w.After = to
		}
	}
}

// TakeAll takes out all that waits for nothing but a REQ.
func (s *Side) TakeAll(now time.Duration) (lots []itemset.Lot) {
	left := s.waiting[:0]
	for _, w := range s.waiting {
		if w.After > now {
			left = append(left, w)
			continue
		}
		lots = itemset.AddLot(lots, w.Lot)
	}
	clear(s.waiting[len(left):])
	s.waiting = left
	return lots
}

// fill takes out as many waiting items as one REQ bears; nil when none wait. What
// does not fit even alone is taken out as well, and unfit.
func (s *Side) fill(t Terms) (load *REQ, unfit []itemset.Lot) {
	load = &REQ{}
	for i := 0; i < len(s.waiting); {
		w := s.waiting[i]
		if w.After > t.Now || len(load.lots) > 0 && w.Apart != load.Apart {
			i++
			continue
		}
		n := load.take(t, w)
		switch {
		case n == len(w.Items):
			s.waiting = slices.Delete(s.waiting, i, i+1)
			continue
		case len(load.lots) > 0:
			w.Items = w.Items[n:]
			return load, unfit
		}
		unfit = append(unfit, itemset.Lot{Layer: w.Layer, Apart: w.Apart, Since: w.Since, Items: w.Items[:1]})
		if w.Items = w.Items[1:]; len(w.Items) == 0 {
			s.waiting = slices.Delete(s.waiting, i, i+1)
		}
	}
	if len(load.lots) == 0 {
		return nil, unfit
	}
	return load, unfit
}

// take takes items of w over until the REQ is full and returns how many. They
// stay in w for the caller to remove.
func (l *REQ) take(t Terms, w *Waiting) int {
	n := 0
	for _, it := range w.Items {
		s := l.Size
		if s.Add(t.Want, it); !t.Limits.Fits(s, t.Values) {
			break
		}
		l.Size = s
		n++
	}
	if n > 0 {
		l.Apart, l.Tries = w.Apart, max(l.Tries, w.tries)
		l.Add(itemset.Lot{Layer: w.Layer, Apart: w.Apart, Since: w.Since, Items: w.Items[:n]})
	}
	return n
}
