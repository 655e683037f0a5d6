package plan

import (
	"slices"

	"github.com/graspd/graspd/internal/want"
)

// The relay need not wait for our own door: while that decides what one request by id brought, the next one is sent.

// mostSettling is how many requests by id of one reconciliation may wait for the door beside the one that is open.
const mostSettling = 4

// settle lets a task go on that has more to ask by id, though not all of what r brought is decided.
func (c *catchup) settle(r *request) {
	t := r.task
	if r.batch == nil || len(t.neg.Needs()) == 0 || len(t.settling) == mostSettling || t.group.Layer == want.LayerReferences {
		return
	}
	t.settle(r)
	c.proceed(t)
}

// settled takes a request of which all is decided while its task went on.
func (c *catchup) settled(r *request) {
	c.remove(r)
	t := r.task
	t.settled(r)
	running := slices.Contains(c.running, t)
	if r.failed {
		c.abandon(t)
		c.forgetFound(t)
		if running {
			c.taskFailed(t, whyNotStored)
		}
		return
	}
	r.batch.Answered()
	switch {
	case t.req == nil:
		c.fetchEnded(t)
		if running {
			c.proceed(t)
		}
	case t.req.kind == asksIDs && t.req.answered:
		c.settle(t.req)
	}
}

// forgetFound has a task begin again.
func (c *catchup) forgetFound(t *task) {
	c.forgetSettling(t)
	t.forget()
	c.letGo(c.now.Mono)
}

// forgetSettling makes what is still to be decided nobody's.
func (c *catchup) forgetSettling(t *task) {
	if len(t.settling) == 0 {
		return
	}
	for _, r := range t.takeSettling() {
		c.remove(r)
	}
	c.letGo(c.now.Mono)
}

// fetchEnded has tasks go on that wait for t, if it has all that it asked for by id.
func (c *catchup) fetchEnded(t *task) {
	if len(t.neg.Needs())+len(t.settling) == 0 {
		c.letGo(c.now.Mono)
	}
}
