package livesubs

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/sync/peer/itemset"
)

// Waiting is a lot that no live REQ asks for yet.
type Waiting struct {
	itemset.Lot
	After time.Duration // no REQ asks for the lot before
	tries int           // refusals of REQs for the items
}

// Queue lets a lot wait for a REQ.
func (s *Planner) Queue(l itemset.Lot) {
	for _, w := range s.waiting {
		if w.Alike(l) && w.After == 0 {
			w.Items = append(w.Items, l.Items...)
			return
		}
	}
	s.Requeue(l, 0, 0)
}

// Requeue lets a lot wait for a REQ and for a time. tries says how often REQs for the items were refused.
func (s *Planner) Requeue(l itemset.Lot, after time.Duration, tries int) {
	s.waiting = append(s.waiting, &Waiting{Lot: l, After: after, tries: tries})
}

// Waiting returns the lots that wait. The slice is the caller's; the caller changes no lot.
func (s *Planner) Waiting() []*Waiting { return slices.Clone(s.waiting) }

// Isolate sets, for each lot that waits, why its items stand in REQs of their own.
func (s *Planner) Isolate(of func(itemset.Lot) itemset.Isolation) {
	for _, w := range s.waiting {
		w.Isolation = of(w.Lot)
	}
}

// PutForward lets the lots that wait until the time from wait until the time to instead.
func (s *Planner) PutForward(from, to time.Duration) {
	for _, w := range s.waiting {
		if w.After == from {
			w.After = to
		}
	}
}

// TakeAll takes out the lots that wait for a REQ alone, and for no time.
func (s *Planner) TakeAll(now time.Duration) (lots []itemset.Lot) {
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

// fill takes out as many waiting items as one REQ bears, and returns that REQ; nil when none wait. fill also takes
// out the items of which one alone is more than a REQ bears: these are unfit.
func (s *Planner) fill(facts Facts) (load *REQ, unfit []itemset.Lot) {
	load = &REQ{}
	for i := 0; i < len(s.waiting); {
		w := s.waiting[i]
		if w.After > facts.Now || len(load.lots) > 0 && w.Isolation != load.Isolation {
			i++
			continue
		}
		n := load.take(facts, w)
		switch {
		case n == len(w.Items):
			s.waiting = slices.Delete(s.waiting, i, i+1)
			continue
		case len(load.lots) > 0:
			w.Items = w.Items[n:]
			return load, unfit
		}
		unfit = itemset.AddLot(unfit, itemset.Lot{Layer: w.Layer, Isolation: w.Isolation, Since: w.Since, Items: w.Items[:1]})
		if w.Items = w.Items[1:]; len(w.Items) == 0 {
			s.waiting = slices.Delete(s.waiting, i, i+1)
		}
	}
	if len(load.lots) == 0 {
		return nil, unfit
	}
	return load, unfit
}

// take adds items of w to the REQ until it is full, and returns how many. The caller
// removes these items from w.
func (l *REQ) take(facts Facts, w *Waiting) int {
	n := 0
	for _, it := range w.Items {
		s := l.Size
		if s.Add(facts.Want, it); !facts.Limits.Fits(s, facts.Values) {
			break
		}
		l.Size = s
		n++
	}
	if n > 0 {
		l.Isolation, l.Tries = w.Isolation, max(l.Tries, w.tries)
		l.Add(itemset.Lot{Layer: w.Layer, Isolation: w.Isolation, Since: w.Since, Items: w.Items[:n]})
	}
	return n
}
