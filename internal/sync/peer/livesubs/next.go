package livesubs

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
)

// Move says what to do for some of the items that wait, in order: Unfollowed gives way first, then Load is sent.
type Move struct {
	Unfollowed []Unfollowed
	Load       *REQ   // to be sent; nil where there is no room for more
	Values     int    // how many values each of its filters carries
	Parts      []*REQ // Load is for their items too
	// Overlap: Parts stay until Load is open. Else the caller closes them first, and adds their items to Load such that what they miss in
	// between is asked for.
	Overlap bool
	More    bool // there may be another move
}

// Unfollowed are items that lose their live REQ, or get none for want of room.
type Unfollowed struct {
	REQ  *REQ          // to be closed; nil where the items had none
	Lots []itemset.Lot // items whose stored events are to be asked for now; others wait for their turn
}

// Next opens a live REQ for waiting items as far as the relay's limit
// goes. Beyond it Next unites them with small REQs, and polls what then does
// not fit.
func (s *Planner) Next(facts Facts) (m Move) {
	room := s.standing() < facts.Limits.Live()
	if !room && (s.Moving() || facts.Now < s.mergeAfter) {
		return Move{}
	}
	load, unfit := s.fill(facts)
	if len(unfit) > 0 {
		m.Unfollowed = append(m.Unfollowed, Unfollowed{Lots: s.poll(facts, unfit)})
	}
	if load == nil {
		return m
	}
	m.More = true
	fits := s.bears(facts, load.Size.Message(facts.Values))
	switch {
	case room && fits:
		m.Load, m.Values = load, facts.Values
	case fits && (s.unite(facts, &m, load, facts.Values) || s.unite(facts, &m, load, facts.Limits.Dense())):
	case s.evict(facts, &m, load):
	default:
		m.Unfollowed = append(m.Unfollowed, Unfollowed{Lots: s.poll(facts, load.lots)})
	}
	return m
}

// unite opens one REQ for load and for small REQs that fit with it, which are
// closed when it has settled. It reports whether there are such.
func (s *Planner) unite(facts Facts, m *Move, load *REQ, values int) bool {
	parts := s.unitable(facts, load, values)
	if len(parts) == 0 {
		return false
	}
	s.uniteWith(facts, m, load, parts, values)
	return true
}

func (s *Planner) uniteWith(facts Facts, m *Move, load *REQ, parts []*REQ, values int) {
	for _, l := range parts {
		load.Size = load.Size.Plus(l.Size)
	}
	m.Load, m.Values, m.Parts = load, values, parts
	m.Overlap = facts.Limits.Spare() > 0 && s.bears(facts, load.Size.Message(values))
	if m.Overlap {
		for _, l := range parts {
			l.by = load
		}
		load.parts = parts
	}
}

// unitable returns the smallest open REQs that fit into one with load. A REQ
// much larger than all before it is left alone, or every new root event would
// repeat the largest; unless nothing else is there.
func (s *Planner) unitable(facts Facts, load *REQ, values int) []*REQ {
	var open []*REQ
	for _, l := range s.reqs {
		if l.steady() && l.Isolation == load.Isolation {
			open = append(open, l)
		}
	}
	slices.SortStableFunc(open, func(a, b *REQ) int { return a.Size.Items() - b.Size.Items() })
	total := load.Size
	for i, l := range open {
		with := total.Plus(l.Size)
		if !facts.Limits.Fits(with, values) || i > 0 && l.Size.Items() > 2*total.Items() {
			return open[:i]
		}
		total = with
	}
	return open
}

// leastSaved is how many filters a merge must save if there is room for more REQs.
const leastSaved = 6

// Merge unites small REQs where the filters have become too many and
// enough of them are saved to be worth it.
func (s *Planner) Merge(facts Facts) (m Move) {
	count := 0
	for _, l := range s.reqs {
		count += l.filters
	}
	if count <= facts.MaxFilters || s.merging() != nil || facts.Limits.Spare() == 0 || !s.bears(facts, s.Bytes()) || facts.Now < s.mergeAfter {
		return Move{}
	}
	parts := s.unitable(facts, &REQ{}, facts.Values)
	var total reqfilter.Size
	saved := 0
	for _, l := range parts {
		saved += l.filters
		total = total.Plus(l.Size)
	}
	if saved -= total.Filters(facts.Values); saved >= leastSaved {
		s.uniteWith(facts, &m, &REQ{}, parts, facts.Values)
	}
	return m
}

// Merges reports whether a merge is under way of whose REQs, the new one and its parts, is is true for one.
func (s *Planner) Merges(is func(*REQ) bool) bool {
	m := s.merging()
	return m != nil && (is(m) || slices.ContainsFunc(m.parts, is))
}

// Cancel ends the merge that is under way, and lets nothing merge for a while. It returns the REQ that would have replaced the others, which
// the caller closes, as the items of its own have to wait; nil where there is none.
func (s *Planner) Cancel(now time.Duration) *REQ {
	m := s.merging()
	if m != nil {
		m.release()
		s.mergeLater(now)
	}
	return m
}
