package live

import (
	"cmp"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/ask"
	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/want"
)

// Root events that are talked about, and what found no place when it was new, come from the sweep among what is followed live.

// What rises, or is new, may have a large REQ replaced. That happens once in a while for all that waits for it.
const (
	riseInterval = time.Minute
	mostRising   = ask.MaxValues // items at once
)

// rising is what is to be followed.
type rising struct {
	items itemset.Set
	look  bool          // there may be one of them in the sweep
	after time.Duration // no REQ is thinned before, and nothing rises that might need that
}

// add notes that an item is to be followed.
func (r *rising) add(it want.Item) {
	r.items.Put(it)
	r.look = true
}

// later notes what a REQ was to be thinned for too soon after another.
func (r *rising) later(load *REQ) {
	for it := range itemset.Each(load.lots) {
		r.add(it)
	}
}

// Rouse notes that a root event is talked about.
func (s *Side) Rouse(it want.Item) { s.rising.add(it) }

// Rising counts the items that are to be followed, wherever they stand.
func (s *Side) Rising() int { return s.rising.items.Len() }

// MayRise says whether there may be something to rise now.
func (s *Side) MayRise(now time.Duration) bool { return s.rising.look && now >= s.rising.after }

// Rise takes items out of the sweep that rank above some that are followed, and returns them: they are to wait for a REQ. What finds none all
// the same is asked at once, and swept on. What is asked just now, of what is swept, rises when it has been.
func (s *Side) Rise(t Terms, asked []want.Item) (up []want.Item) {
	r := &s.rising
	least := s.least(t.Want)
	for _, x := range s.sweeps {
		for _, it := range x.Items {
			if r.items.Has(it) && t.Want.Rank(it) > least {
				up = append(up, it)
			}
		}
	}
	slices.SortFunc(up, func(a, b want.Item) int { return cmp.Compare(t.Want.Rank(b), t.Want.Rank(a)) })
	var rest itemset.Set
	for _, it := range asked {
		if r.items.Has(it) {
			rest.Put(it)
		}
	}
	r.look = len(up) > mostRising
	for len(up) > mostRising {
		rest.Put(up[len(up)-1])
		up = up[:len(up)-1]
	}
	r.items = rest
	if len(up) > 0 {
		out := itemset.Of(slices.Values(up))
		s.Lose(out.Has)
	}
	return up
}

// least returns the lowest rank of what is followed.
func (s *Side) least(w *want.Want) int64 {
	least := int64(aboveAll)
	for _, l := range s.reqs {
		for it := range itemset.Each(l.lots) {
			least = min(least, w.Rank(it))
		}
	}
	return least
}
