package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/want"
)

// Some relays refuse all of a request, or do not answer it, for one value that
// they do not take: one that is too long, or that holds a control character. The
// values of repositories are chosen by strangers. So that nobody's value keeps
// away what others wrote, repositories are suspected: those with a value that
// known relays refuse at once, others when a request with them was refused or
// not answered and nothing tells why. A suspect stands in no live REQ and no
// group. It is tried by a small REQ of its own, in sets that are halved while the
// relay refuses them, until what it refuses is alone.
//
// Before a refusal counts that does not speak of a value, a trial with a value
// that nobody can object to shows that the relay answers at all.

// suspects try the repositories under suspicion at one relay.
type suspects struct {
	*desk
	*books
	suspicion
	live   *following  // of the connection; nil = there is none
	stored *catchup    // likewise
	borne  itemset.Set // repositories that were suspected and whose values the relay takes on it
}

// suspicion is who is under it. It outlives connections; what is remembered is bounded by what is wanted.
type suspicion struct {
	items   itemset.Set // all of them
	doubted itemset.Set // no suspects yet, and to be tried
	refused itemset.Set // of these, what the relay is taken to refuse
	sets    []*suspected
	accused *suspected    // it was refused, and counts once the relay has answered another trial
	after   time.Duration // no trial before
	retrial time.Duration // no trial of what is taken for refused before
	silent  int           // in a row, trials that nobody can object to and that failed
	losses  int           // connections that ended with a trial
	trial   trial
}

// suspected is a set that is tried by one REQ.
type suspected struct {
	items []want.Item
	free  bool          // they are no suspects before they are refused
	odd   bool          // known relays refuse a value of each: tried last
	after time.Duration // not before
	tries int           // refusals, of one alone
	hangs bool          // the relay hung up when it was tried
}

// suspect takes items out of all other places. Those that the relay has shown to
// take on this connection are never suspected: it reports whether there were others.
func (s *suspects) suspect(items []want.Item, odd bool) bool {
	fresh := slices.DeleteFunc(slices.Clone(items), func(it want.Item) bool { return !s.dubious(it) || s.items.Has(it) })
	if len(fresh) == 0 {
		return false
	}
	for _, part := range s.trialParts(fresh) {
		s.sets = append(s.sets, &suspected{items: part, odd: odd})
	}
	s.accuse(fresh)
	return true
}

// mistrust has items tried that stay where they are until a trial is refused.
func (s *suspects) mistrust(items []want.Item) {
	fresh := slices.DeleteFunc(slices.Clone(items), func(it want.Item) bool { return !s.dubious(it) || s.items.Has(it) || s.doubted.Has(it) })
	for _, it := range fresh {
		s.doubted.Put(it)
	}
	for _, part := range s.trialParts(fresh) {
		s.sets = append(s.sets, &suspected{items: part, free: true})
	}
}

// dubious says whether an item may be a suspect.
func (s *suspects) dubious(it want.Item) bool {
	return s.wanted.Has(it) && s.want.Layer(it) == want.LayerRepositories && (s.live == nil || !s.borne.Has(it))
}

// accuse makes suspects of items.
func (s *suspects) accuse(items []want.Item) {
	for _, it := range items {
		s.items.Put(it)
		s.doubted.Drop(it)
		s.confirmed.Drop(it)
	}
	if s.live != nil {
		s.live.unplace(s.items.Has)
	}
}

// suspectOdd suspects what waits and has values that known relays refuse.
func (s *suspects) suspectOdd() {
	var odd []want.Item
	for _, w := range s.live.waiting {
		if w.Apart == itemset.ApartLong {
			odd = append(odd, w.Items...)
		}
	}
	if len(odd) > 0 {
		s.suspect(odd, true)
	}
}

// suspectGroup suspects the repositories of a group that the relay refused or
// did not answer. It reports whether there are any that may be.
func (s *suspects) suspectGroup(g *group) bool {
	return g.Layer == want.LayerRepositories && g.byItems() && s.suspect(slices.Clone(g.Items), false)
}

// withoutSuspects returns what is left of lots.
func (s *suspects) withoutSuspects(lots []itemset.Lot) []itemset.Lot {
	return itemset.Prune(lots, s.items.Has)
}

// acquit ends all suspicion, as nothing is asked by a value any more, and returns who was under it.
func (s *suspects) acquit() []want.Item {
	s.dropTrial()
	items := slices.Collect(s.items.Above(0))
	s.suspicion = suspicion{}
	return items
}

// begin begins a connection, on which no value was shown to be taken.
func (s *suspects) begin(live *following, stored *catchup) {
	s.live, s.stored, s.borne = live, stored, itemset.Set{}
}

// forget ends all suspicion and the connection, as nothing is wanted of the relay any more.
func (s *suspects) forget() {
	s.suspicion = suspicion{}
	s.end()
}

// end ends the connection.
func (s *suspects) end() { s.live, s.stored = nil, nil }

// asked returns the request that tries suspects, if the relay has not answered it.
func (s *suspects) asked() *request {
	if t := s.trial.task; t != nil && t.req != nil && !t.req.answered {
		return t.req
	}
	return nil
}

// drop forgets an item that is wanted no more.
func (s *suspects) drop(it want.Item) {
	s.items.Drop(it)
	s.doubted.Drop(it)
	s.refused.Drop(it)
}
