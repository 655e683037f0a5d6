package peer

import (
	"time"

	"github.com/graspd/graspd/internal/sync/peer/itemset"
)

// group is up to a hundred items of one layer whose stored filters are asked
// together and that are confirmed together.
type group struct {
	itemset.Lot
	class      Class
	polled     bool          // there is no live REQ for them
	over       bool          // done or abandoned
	unfiltered *unfiltered   // has the group compared without a filter; nil = by filters of its items
	due        time.Duration // of polled items that were confirmed before: when their turn came
	tasks      []*task       // made when it is begun: thousands of groups may wait
	open       int           // tasks not done
}

// byItems says whether a group is asked by filters of its items.
func (g *group) byItems() bool { return g.unfiltered == nil }

// empty says whether nothing is left of a group that was asked for its items.
func (g *group) empty() bool { return len(g.Items) == 0 && g.byItems() }
