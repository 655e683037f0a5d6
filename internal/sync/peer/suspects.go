package peer

import (
	"slices"

	"github.com/graspd/graspd/internal/sync/peer/bisect"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
)

// suspects have the repositories under suspicion tried at the relay. A suspect stands in no live REQ and no group: a small REQ of its own tries
// it, when nothing else is asked.
type suspects struct {
	*stepContext
	*itemState
	under    bisect.Suspicion
	live     *following  // of the connection; nil while there is none
	stored   *catchup    // of the connection; nil while there is none
	accepted itemset.Set // repositories whose values the relay has shown to take on this connection
	task     *task       // of the trial under way; nil while there is none
}

// suspect takes items out of all other places. It never suspects those that the relay has shown to take on this connection, and reports
// whether there were others.
func (s *suspects) suspect(items []want.Item, odd bool) bool {
	fresh := slices.DeleteFunc(slices.Clone(items), func(it want.Item) bool { return !s.dubious(it) || s.under.Has(it) })
	if len(fresh) == 0 {
		return false
	}
	s.under.Suspect(reqfilter.Trials(s.want, fresh, s.live.limits.Bounds()), odd)
	s.suspected(fresh)
	return true
}

// mistrust has items tried that stay where they are until a trial is refused.
func (s *suspects) mistrust(items []want.Item) {
	fresh := slices.DeleteFunc(slices.Clone(items), func(it want.Item) bool { return !s.dubious(it) || s.under.Has(it) || s.under.Doubts(it) })
	s.under.Doubt(reqfilter.Trials(s.want, fresh, s.live.limits.Bounds()))
}

// dubious says whether an item may be a suspect.
func (s *suspects) dubious(it want.Item) bool {
	return s.wanted.Has(it) && s.want.Layer(it) == want.LayerRepositories && !s.accepted.Has(it)
}

// found does what the finding of a trial asks for.
func (s *suspects) found(f bisect.Finding) {
	s.suspected(f.Suspected)
	for _, it := range f.Accepted {
		s.accepted.Put(it)
	}
	for _, it := range f.Cleared {
		s.live.planner.Queue(s.live.lotOf(it))
	}
	for _, it := range f.Refused {
		s.held.Drop(it)
		s.report(LevelInfo, "the relay refuses requests for a repository", "repository", s.want.Repository(it).Addresses[0])
	}
}

// suspected takes new suspects out of all other places.
func (s *suspects) suspected(items []want.Item) {
	for _, it := range items {
		s.confirmed.Drop(it)
	}
	if s.live != nil && len(items) > 0 {
		s.live.unplace(s.under.Has)
	}
}

// suspectOdd suspects repositories that wait for a live REQ and have values that known relays refuse.
func (s *suspects) suspectOdd() {
	var odd []want.Item
	for _, w := range s.live.planner.Waiting() {
		if w.Isolation == itemset.OddValue {
			odd = append(odd, w.Items...)
		}
	}
	if len(odd) > 0 {
		s.suspect(odd, true)
	}
}

// suspectGroup suspects the repositories of a group that the relay refused or did not answer. It reports whether the group has any that may be
// suspects.
func (s *suspects) suspectGroup(g *group) bool {
	return g.Layer == want.LayerRepositories && g.byItems() && s.suspect(slices.Clone(g.Items), false)
}

// withoutSuspects returns what is left of lots.
func (s *suspects) withoutSuspects(lots []itemset.Lot) []itemset.Lot {
	return itemset.Prune(lots, s.under.Has)
}

// acquit ends all suspicion, as requests name no values any more, and returns the items that were under it.
func (s *suspects) acquit() []want.Item {
	s.dropTrial()
	items := s.under.All()
	s.under = bisect.Suspicion{}
	return items
}

// begin begins a connection, on which the relay has not shown yet which values it takes.
func (s *suspects) begin(live *following, stored *catchup) {
	s.live, s.stored, s.accepted = live, stored, itemset.Set{}
}

// again has everything tried anew that the relay is taken to refuse; in a full resync also what the connection has shown.
func (s *suspects) again(resync bool) {
	s.under.Again(resync)
	if resync {
		s.accepted.Clear()
	}
}

// forget ends all suspicion and the connection, as nothing is wanted of the relay any more.
func (s *suspects) forget() {
	s.under, s.task = bisect.Suspicion{}, nil
	s.end()
}

// end ends the connection.
func (s *suspects) end() { s.live, s.stored = nil, nil }
