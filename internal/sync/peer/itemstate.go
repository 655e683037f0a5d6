package peer

import (
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/want"
)

// itemState says what is wanted of the relay and what is known to be here of that. It outlives connections.
type itemState struct {
	want        *want.Want // nil = nothing
	wanted      itemset.Bag
	confirmed   itemset.Known // completely answered and followed since
	proven      itemset.Set   // completely answered once: what was stored then is here
	unproven    itemset.Set   // answered, but the relay may have more than it showed
	askedBefore bool          // it was asked before this process began, and is not caught up with yet
	held        itemset.Known // confirmed as of the mark; only what came since is not asked yet
}

// repository says whether an item that is wanted is a repository.
func (s *itemState) repository(it want.Item) bool { return s.want.Repository(it) != nil }

// has says whether an item is confirmed, or was when the relay was last heard.
func (s *itemState) has(it want.Item) bool { return s.confirmed.Has(it) || s.held.Has(it) }

// unconfirm forgets what is confirmed, and what was when the relay was last heard.
func (s *itemState) unconfirm() {
	s.confirmed.Clear()
	s.held.Clear()
}

// unprove forgets that anything was read in full.
func (s *itemState) unprove() {
	s.proven.Clear()
	s.unproven.Clear()
	s.askedBefore = false
}

// read records that the relay has answered all that it was asked of an item: of all times, or only of late. unproven says that the relay may have
// more than it showed.
func (s *itemState) read(it want.Item, allTimes, unproven bool) {
	switch {
	case unproven:
		s.unproven.Put(it)
		s.proven.Drop(it)
	case allTimes:
		s.unproven.Drop(it)
		s.proven.Put(it)
	}
}

// known says whether an item is here completely, as far as was told when the relay was last heard.
func (s *itemState) known(it want.Item) bool { return s.has(it) && !s.unproven.Has(it) }

// provenBefore says whether all that g asks for was read in full before, as it
// was before a restart where the relay shows nothing that is not here. What it had
// in the oldest second is here then, and need not be sent again.
func (s *itemState) provenBefore(g *group, news bool) bool {
	if s.askedBefore && !news {
		return true
	}
	for _, it := range g.Items {
		if !s.proven.Has(it) {
			return false
		}
	}
	return true // where nothing is to be confirmed, too
}

// inOrder returns what is wanted, the lower layers first and of the root events
// those that rank highest, as they are the last to be left without a live REQ.
func (s *itemState) inOrder() []want.Item {
	var seen itemset.Set
	items := make([]want.Item, 0, s.wanted.Len())
	s.want.Each(func(it want.Item) {
		if seen.Put(it) {
			items = append(items, it)
		}
	})
	slices.SortStableFunc(items, func(x, y want.Item) int {
		return cmp.Or(cmp.Compare(s.want.Layer(x), s.want.Layer(y)), cmp.Compare(s.want.Rank(y), s.want.Rank(x)))
	})
	return items
}
