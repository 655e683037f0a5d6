package peer

import "time"

// What a relay may make of one stored REQ. Some take no notice of a limit, so there
// is room for much more than is asked; but what has no end is ended here, and has
// failed.
const (
	requestRoom    = 10_000 // events above the limit
	longestRequest = 10 * time.Minute
)

// streams says whether the relay may still send events for a stored REQ.
func (r *request) streams() bool { return r.task != nil && r.kind != asksNeg && !r.answered }

// overrun ends a stored REQ that the relay does not end. It has failed; but a relay
// that takes no notice of limits gets there in steps, and is not put off longer each time.
func (c *catchup) overrun(r *request) {
	t := r.task
	if r.kind == asksTrial {
		c.closeReq(r.sub)
		r.answered = true
		c.suspects.trialAnswered()
		return
	}
	if r.kind == asksPage && t.pager.Cut(r.readAll()) {
		t.tries = 0 // the next failure puts the task off no longer than a first
	}
	c.taskFailed(t, "an answer without end")
}

// readAll says whether all events have come that are read.
func (r *request) readAll() bool { return r.events >= r.most }
