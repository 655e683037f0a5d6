package livesubs

import (
	"cmp"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
)

// Root events that are talked about, and new items that found no room, get a live REQ in place of their turns: they are promoted.

// An item that is promoted, or is new, may need a large REQ to be replaced. That happens once in a while, for all items that wait for it.
const (
	promoteInterval = time.Minute
	mostPromoted    = reqfilter.MaxValues // items at once
)

// promotion is the items that are to be followed.
type promotion struct {
	items itemset.Set
	look  bool          // one of them may be polled
	after time.Duration // before it no REQ is thinned, and nothing is promoted that might need that
}

// add notes that an item is to be followed.
func (r *promotion) add(it want.Item) {
	r.items.Put(it)
	r.look = true
}

// later notes an item for which a REQ would be thinned too soon after another.
func (r *promotion) later(load *REQ) {
	for it := range itemset.Each(load.lots) {
		r.add(it)
	}
}

// Touch notes that a root event is talked about.
func (s *Planner) Touch(it want.Item) { s.promotion.add(it) }

// Promotions counts the items that are to be followed, wherever they stand.
func (s *Planner) Promotions() int { return s.promotion.items.Len() }

// MayPromote reports whether an item may be promoted now.
func (s *Planner) MayPromote(now time.Duration) bool {
	return s.promotion.look && now >= s.promotion.after
}

// Promote takes polled items out that rank above some that are followed, and returns them, to wait for a REQ. An item that finds none all
// the same is asked at once, and polled again. asked are the polled items that are asked just now: these are promoted afterwards.
func (s *Planner) Promote(facts Facts, asked []want.Item) (up []want.Item) {
	r := &s.promotion
	least := s.least(facts.Want)
	for _, x := range s.polls {
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
	r.look = len(up) > mostPromoted
	for len(up) > mostPromoted {
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
func (s *Planner) least(w *want.Want) int64 {
	least := int64(aboveAll)
	for _, l := range s.reqs {
		for it := range itemset.Each(l.lots) {
			least = min(least, w.Rank(it))
		}
	}
	return least
}
