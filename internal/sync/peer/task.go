package peer

import (
	"slices"
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
	over      bool // done or abandoned
	extra     bool // nobody waits for it: where the relay refuses it, it is done
	behind    bool // it was put off until another has what both need
	doubted   bool // it was asked whether the relay answers filters without kinds
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

// page has what lies in s read page by page, from a relay with habits.
func (t *task) page(s paging.Span, h *paging.Habits) { t.pager = paging.New(s, h) }

// paged ends the reading of pages. It reports whether they may have left out an event that nothing else would show: one that was asked for by
// id in vain is known.
func (t *task) paged() (unproven bool) {
	unproven = t.pager.Unproven()
	t.unproven = t.unproven || unproven && (t.neg == nil || !t.neg.Paged())
	if t.pager.Forget(); t.neg != nil {
		t.pager = nil
	}
	return unproven
}

// compares begins a comparison, or the getting of events by id.
func (t *task) compares(n *reconcile.Comparison) { t.neg = n }

// forget drops all that the task has found: it begins again.
func (t *task) forget() { t.pager, t.neg, t.tally, t.unproven = nil, nil, coverage.Tally{}, false }

// detach lets the task go on, though the door has not decided all of what the request r brought.
func (t *task) detach(r *request) { t.undecided, t.req = append(t.undecided, r), nil }

// decided records that the door has decided all of what r brought, while the task went on.
func (t *task) decided(r *request) {
	t.undecided = slices.DeleteFunc(t.undecided, func(x *request) bool { return x == r })
}

// takeUndecided returns the requests that are not decided yet, and forgets them.
func (t *task) takeUndecided() []*request {
	all := t.undecided
	t.undecided = nil
	return all
}

// failed counts a failure, and returns how many there were.
func (t *task) failed() int {
	t.tries++
	return t.tries
}

// forgive forgets failures: the next one puts the task off no longer than a first.
func (t *task) forgive() { t.tries = 0 }

// wait puts the task off. What the task has learned so far stays, but for the ids that it saw.
func (t *task) wait(after time.Duration) {
	if t.pager != nil {
		t.pager.Forget()
	}
	t.after = after
}

// waitBehind notes that the task is put off until another has what both need.
func (t *task) waitBehind() { t.behind = true }

// goOn has a task go on at the time at: what the task waited for has come.
func (t *task) goOn(at time.Duration) { t.behind, t.after = false, at }

// doubt notes that the relay was asked whether it answers filters without kinds.
func (t *task) doubt() { t.doubted = true }

// end says that the task is done or abandoned.
func (t *task) end() { t.over = true }
