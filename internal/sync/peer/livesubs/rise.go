package livesubs

import (
	"cmp"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
)

// Root events that are talked about, and new items that found no room, leave the sweep for a live REQ: they rise.

// An item that rises, or is new, may need a large REQ to be replaced. That happens once in a while, for all items that wait for it.
const (
	riseInterval = time.Minute
	mostRising   = reqfilter.MaxValues // items at once
)

// rising are the items that are to be followed.
type rising struct {
	items itemset.Set
	look  bool          // one of them may be in the sweep
	after time.Duration // before it no REQ is thinned, and nothing rises that might need that
}

// add notes that an item is to be followed.
func (r *rising) add(it want.Item) {
	r.items.Put(it)
	r.look = true
}

// later notes an item for which a REQ would be thinned too soon after another.
func (r *rising) later(load *REQ) {
	for it := range itemset.Each(load.lots) {
		r.add(it)
	}
}

// Rouse notes that a root event is talked about.
func (s *Side) Rouse(it want.Item) { s.rising.add(it) }

// Rising counts the items that are to be followed, wherever they stand.
func (s *Side) Rising() int { return s.rising.items.Len() }

// MayRise reports whether an item may rise now.
func (s *Side) MayRise(now time.Duration) bool { return s.rising.look && now >= s.rising.after }

// Rise takes items out of the sweep that rank above some that are followed, and returns them, to wait for a REQ. An item that finds none all
// the same is asked at once, and swept again. asked are the swept items that are asked just now: these rise afterwards.
func (s *Side) Rise(facts Facts, asked []want.Item) (up []want.Item) {
	r := &s.rising
	least := s.least(facts.Want)
	for _, x := range s.sweeps {
		for _, it := range x.Items {
			if r.items.Has(it) && facts.Want.Rank(it) > least {
				up = append(up, it)
			}
		}
	}
	slices.SortFunc(up, func(a, b want.Item) int { return cmp.Compare(facts.Want.Rank(b), facts.Want.Rank(a)) })
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

// least returns the lowest rank of the items that are followed.
func (s *Side) least(w *want.Want) int64 {
	least := int64(aboveAll)
	for _, l := range s.reqs {
		for it := range itemset.Each(l.lots) {
			least = min(least, w.Rank(it))
		}
	}
	return least
}
