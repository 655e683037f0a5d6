package peer

import (
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/coverage"
	"github.com/graspd/graspd/internal/sync/peer/paging"
	"github.com/graspd/graspd/internal/sync/peer/reconcile"
)

// task reads everything that one stored filter matches from the relay.
type task struct {
	group     *group
	filter    nostr.Filter
	after     time.Duration // not before, when put off
	tries     int
	over      bool  // done or abandoned
	extra     bool  // nobody waits for it: where the relay refuses it, it is done
	from      int64 // what is created from then on may have come to the relay after it was asked
	again     bool  // an earlier connection read all but what came since
	behind    bool  // it was put off until another has what both need
	doubted   bool  // it was asked whether the relay answers filters without kinds
	req       *request
	pager     *paging.Pager
	unproven  bool // the relay may have more than its pages showed
	tally     coverage.Tally
	neg       *reconcile.Comparison
	undecided []*request // answered requests by id that are not decided yet
	differ    int        // events of one side only, in the windows that were compared
	here      int        // events here in these windows
	untold    bool       // not all that was compared tells what the relay lacks
	lacks     []nostr.ID // where everything is compared: what the relay lacks of what others are shown
}

// endPaging ends the reading of pages. It reports whether they may have left out an event that nothing else would show: one that was asked for by
// id in vain is known.
func (t *task) endPaging() (unproven bool) {
	unproven = t.pager.Unproven()
	t.unproven = t.unproven || unproven && (t.neg == nil || !t.neg.Paged())
	if t.pager.Forget(); t.neg != nil {
		t.pager = nil
	}
	return unproven
}

// forget drops all that the task has found: it begins again.
func (t *task) forget() { t.pager, t.neg, t.tally, t.unproven = nil, nil, coverage.Tally{}, false }
