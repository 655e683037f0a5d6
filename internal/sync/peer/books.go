package peer

import (
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/want"
)

// books say what is wanted of the relay and what is known to be here of that. They outlive connections.
type books struct {
	want      *want.Want // nil = nothing
	wanted    itemset.Bag
	confirmed itemset.Known // completely answered and followed since
	proven    itemset.Set   // completely answered once: what was stored then is here
	unproven  itemset.Set   // answered, but the relay may have more than it showed
	met       bool          // it was asked before this process began, and is not caught up with yet
	held      itemset.Known // confirmed as of the mark; only what came since is not asked yet
}

// repository says whether an item that is wanted is a repository.
func (b *books) repository(it want.Item) bool { return b.want.Repository(it) != nil }

// has says whether an item is confirmed, or was when the relay was last heard.
func (b *books) has(it want.Item) bool { return b.confirmed.Has(it) || b.held.Has(it) }

// unconfirm forgets what is confirmed, and what was when the relay was last heard.
func (b *books) unconfirm() {
	b.confirmed.Clear()
	b.held.Clear()
}

// unprove forgets that anything was read in full.
func (b *books) unprove() {
	b.proven.Clear()
	b.unproven.Clear()
	b.met = false
}

// read records that the relay has answered all that it was asked of an item: of all times, or only of late. unproven says that the relay may have
// more than it showed.
func (b *books) read(it want.Item, allTimes, unproven bool) {
	switch {
	case unproven:
		b.unproven.Put(it)
		b.proven.Drop(it)
	case allTimes:
		b.unproven.Drop(it)
		b.proven.Put(it)
	}
}

// known says whether an item is here completely, as far as was told when the relay was last heard.
func (b *books) known(it want.Item) bool { return b.has(it) && !b.unproven.Has(it) }

// provenBefore says whether all that g asks for was read in full before, as it
// was before a restart where the relay shows nothing that is not here. What it had
// in the oldest second is here then, and need not be sent again.
func (b *books) provenBefore(g *group, news bool) bool {
	if b.met && !news {
		return true
	}
	for _, it := range g.Items {
		if !b.proven.Has(it) {
			return false
		}
	}
	return true // where nothing is to be confirmed, too
}

// inOrder returns what is wanted, the lower layers first and of the root events
// those that rank highest, as they are the last to be left without a live REQ.
func (b *books) inOrder() []want.Item {
	var seen itemset.Set
	items := make([]want.Item, 0, b.wanted.Len())
	b.want.Each(func(it want.Item) {
		if seen.Put(it) {
			items = append(items, it)
		}
	})
	slices.SortStableFunc(items, func(x, y want.Item) int {
		return cmp.Or(cmp.Compare(b.want.Layer(x), b.want.Layer(y)), cmp.Compare(b.want.Rank(y), b.want.Rank(x)))
	})
	return items
}
