package peer

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/peer/paging"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
)

// connState is what is under way on a connection, and what the relay is known to bear on it.
type connState struct {
	*stepContext
	closes     refusal.Closes
	opened     backoff.Now
	told       capacity.Capacity // as the relay tells
	limits     capacity.Capacity // as learned
	habits     paging.Habits     // as its pages have shown
	requests   map[string]*request
	doorAt     time.Duration // when the door last decided something of a stored request
	pausedTill time.Duration
	pace       capacity.Pace
	slow       bool          // asked to slow down: half the concurrency
	noticed    time.Duration // when the last NOTICE came
	ended      refusal.Ended // for a NOTICE that may have been about another
	barred     bool          // the log says that the relay allows something only to others
}

// newConnState is that of a connection that has just opened.
func newConnState(s *stepContext, told capacity.Capacity) connState {
	return connState{stepContext: s, opened: s.now, told: told, limits: told, requests: make(map[string]*request)}
}

// add notes a request that is under way.
func (w *connState) add(r *request) {
	w.requests[r.sub] = r
	if r.task != nil {
		r.task.req = r
	}
}

// remove forgets a request.
func (w *connState) remove(r *request) {
	delete(w.requests, r.sub)
	if r.task != nil && r.task.req == r {
		r.task.req = nil
	}
}

// paused says whether nothing is to be sent yet.
func (w *connState) paused() bool { return w.now.Mono < w.pausedTill }

// pauseFor has nothing sent for a while.
func (w *connState) pauseFor(wait time.Duration) { w.pausedTill = max(w.pausedTill, w.now.Mono+wait) }

// paced counts a request, and rests when the relay is known to take no more for now.
func (w *connState) paced() { w.pausedTill = max(w.pausedTill, w.pace.Asked(w.now.Mono)) }

// slower stops for a while, and halves what is asked at once afterwards. idle says that nothing that is waited for is missing.
func (w *connState) slower(idle bool) {
	w.pausedTill = max(w.pausedTill, w.pace.Slower(w.now.Mono, idle))
	w.slow = true
}

// anew forgets what was learned of what the relay bears: it may bear more now.
func (w *connState) anew() {
	w.limits, w.slow, w.pace, w.habits = w.told, false, capacity.Pace{}, paging.Habits{}
}

// fewer learns that the relay bears no more REQs than are open after one was refused as too many. New ones wait until all
// refusals that may be under way have come: a NOTICE does not say which REQ it is about. Where none is open, that is
// believed only after some tries.
func (w *connState) fewer(open, tries int) {
	switch {
	case open > 0:
		w.limits.FewerREQs(open)
	case tries >= 2:
		w.limits.HalveREQs()
	}
	w.pauseFor(livesubs.OpenAfter)
}

// silentSince returns since when the relay may be silent about r: while the door decides what other requests brought,
// the answer may have come and be unread.
func (w *connState) silentSince(r *request) time.Duration { return max(r.progress, w.doorAt) }

// reportBarred says once per connection that the relay allows something only to others.
func (w *connState) reportBarred(what, text string) {
	level := LevelDebug
	if !w.barred {
		level, w.barred = LevelWarn, true
	}
	w.report(level, "the relay refused "+what, "text", text, "wait", refusedRetry)
}

// closeReq sends CLOSE for a REQ.
func (w *connState) closeReq(sub string) {
	w.closes.Sent(sub, w.now.Mono)
	w.effect(CloseRequest{Sub: sub})
}

// closeAgain sends the CLOSEs that may have been thrown away, after the pause.
func (w *connState) closeAgain() {
	if w.paused() {
		return
	}
	for _, sub := range w.closes.Again() {
		w.closeReq(sub)
	}
}
