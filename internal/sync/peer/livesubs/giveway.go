package livesubs

import (
	"cmp"
	"math"
	"slices"

	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
)

// What gives way where the relay bears no more REQs: root events that rank low.

// aboveAll is above every rank.
const aboveAll = math.MaxInt64

// evict makes room for load where all REQs are full: it polls root events that rank lower, all of a REQ or the lowest of one. It
// reports whether there was room in the end.
func (s *Planner) evict(facts Facts, m *Move, load *REQ) bool {
	than := newest(facts.Want, load.lots)
	for {
		out, ok := s.shed(facts, than)
		if !ok {
			return s.thin(facts, m, load, facts.Limits.Dense())
		}
		m.Unfollowed = append(m.Unfollowed, out)
		if s.standing() < facts.Limits.Live() && s.bears(facts, load.Size.Message(facts.Values)) {
			m.Load, m.Values = load, facts.Values
			return true
		}
	}
}

// shed polls the REQ whose root events rank lowest, if all of them rank below a rank. Those that rank above what other REQs follow are promoted
// afterwards. shed reports whether there was one.
func (s *Planner) shed(facts Facts, than int64) (Unfollowed, bool) {
	l := s.oldest(facts.Want, than)
	if l == nil {
		return Unfollowed{}, false
	}
	s.Drop(l)
	s.promotion.later(l)
	return Unfollowed{REQ: l, Lots: s.poll(facts, l.lots)}, true
}

// Unborne polls a REQ where all REQs together are too much for the relay; false where they are not, or none can be given up.
func (s *Planner) Unborne(facts Facts) (Unfollowed, bool) {
	if s.bears(facts, 0) {
		return Unfollowed{}, false
	}
	return s.shed(facts, aboveAll)
}

// GiveUp polls the root events of an open REQ that has more than these, or its repositories where it has none, so that the relay has room for anything
// stored: its other items are the rest. It reports whether there is such a REQ.
func (s *Planner) GiveUp(facts Facts) (x Unfollowed, rest []itemset.Lot, ok bool) {
	for layer := want.LayerRoots; layer > want.LayerAnnouncements; layer-- {
		i := slices.IndexFunc(s.reqs, func(l *REQ) bool {
			return l.steady() && !l.Whole && slices.ContainsFunc(l.lots, func(x itemset.Lot) bool { return x.Layer == layer })
		})
		if i < 0 {
			continue
		}
		l := s.reqs[i]
		var out []itemset.Lot
		for _, x := range l.lots {
			if x.Layer == layer {
				out = append(out, x)
			} else {
				rest = append(rest, x)
			}
		}
		s.Drop(l)
		return Unfollowed{REQ: l, Lots: s.poll(facts, out)}, rest, true
	}
	return Unfollowed{}, nil, false
}

// Expendable reports whether there is a REQ that can be given up.
func (s *Planner) Expendable(w *want.Want) bool { return s.oldest(w, aboveAll) != nil }

// oldest returns the open REQ whose root events rank lowest, if all of them rank below a rank; else nil.
func (s *Planner) oldest(w *want.Want, than int64) (oldest *REQ) {
	for _, l := range s.reqs {
		if !l.steady() {
			continue
		}
		if at, ok := newestBelow(w, l.lots, than); ok {
			oldest, than = l, at
		}
	}
	return oldest
}

// Excess returns the smallest REQ where there are more than most; else nil. The caller cancels a merge first: the REQ that merges others is
// larger than these.
func (s *Planner) Excess(most int) *REQ {
	if s.standing() <= most {
		return nil
	}
	return slices.MinFunc(s.reqs, func(a, b *REQ) int { return a.Size.Items() - b.Size.Items() })
}

// thin makes room for load in a live REQ that also has what ranks above it: the root events in it that rank lowest are
// polled. It reports whether there was one.
func (s *Planner) thin(facts Facts, m *Move, load *REQ, values int) bool {
	if facts.Now < s.promotion.after {
		s.promotion.later(load)
		return false
	}
	than := newest(facts.Want, load.lots)
	for _, l := range s.reqs {
		if !l.steady() || l.Isolation != load.Isolation {
			continue
		}
		low, rest := s.lowest(facts, l, load, than, values)
		if len(low) == 0 {
			continue
		}
		out := itemset.Of(slices.Values(low))
		l.Without(out.Has)
		l.Size = rest
		s.promotion.after = facts.Now + promoteInterval
		s.pollLater(itemset.Lot{Layer: want.LayerRoots, Items: low}, facts.Now)
		s.uniteWith(facts, m, load, []*REQ{l}, values)
		return true
	}
	return false
}

// lowest returns the root events of l that have to go for load to fit, the lowest first and all below a rank, and the size of the
// rest; none where load does not fit even so. An item that is not confirmed stays, as it is still asked.
func (s *Planner) lowest(facts Facts, l, load *REQ, than int64, values int) (low []want.Item, rest reqfilter.Size) {
	for it := range itemset.Each(l.lots) {
		if facts.Want.Rank(it) < than && facts.Confirmed.Has(it) {
			low = append(low, it)
		}
	}
	slices.SortFunc(low, func(a, b want.Item) int { return cmp.Compare(facts.Want.Rank(a), facts.Want.Rank(b)) })
	rest = l.Size
	for n := range low {
		rest = rest.WithoutRoot()
		with := rest.Plus(load.Size)
		if facts.Limits.Fits(with, values) && s.bears(facts, with.Message(values)-l.bytes()) {
			return low[:n+1], rest
		}
	}
	return nil, reqfilter.Size{}
}
