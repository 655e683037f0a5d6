package peer

import (
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/reconcile"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
)

// group is up to a hundred items of one layer whose stored filters are asked
// together and that are confirmed together.
type group struct {
	itemset.Lot
	class  Class
	swept  bool          // there is no live REQ for them
	over   bool          // done or abandoned
	course course        // nil = by filters of its items
	due    time.Duration // of swept items that were confirmed before: when their turn came
	tasks  []*task       // made when it is begun: thousands of groups may wait
	open   int           // tasks not done
}

// byItems says whether a group is asked by filters of its items.
func (g *group) byItems() bool { return g.course == nil }

// empty says whether nothing is left of a group that was asked for its items.
func (g *group) empty() bool { return len(g.Items) == 0 && g.byItems() }

// course is how a group is compared that is not asked by filters of its items, and what becomes of it where that cannot be.
type course interface {
	manner(m demands.Manner) demands.Manner                    // how a request goes out that would go out like m
	most() int                                                 // events here that it may be compared with
	mayDiffer(t *task, here int) int                           // events in which both sides may differ, where so many are here in the window at hand
	missing() reconcile.Withheld                               // what is known not to be given
	missed(e *nostr.Event) bool                                // whether what is live should have brought e, and did not
	unfit(why string)                                          // the relay does not bear it, or does not answer it in full
	crowded(t *task, text string)                              // the relay has no room for it now
	paged(t *task)                                             // it would have to be paged
	turnedDown(r *request, why refusal.Kind, text string) bool // whether a refusal ends it
	failed(t *task, why string)                                // it came to nothing this time
	done(t *task)
}
