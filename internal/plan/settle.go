package plan

import (
	"slices"

	"github.com/graspd/graspd/internal/want"
)

// The relay need not wait for the door of this relay: while the door decides the events of one request by id, the next one is sent.

// mostSettling bounds the requests by id of one task that wait for the door, beside the open one.
const mostSettling = 4

// settle lets a task go on that has more ids to request, though the door still decides events of r.
func (c *catchup) settle(r *request) {
	t := r.task
	if r.batch == nil || len(t.neg.Needs()) == 0 || len(t.settling) == mostSettling || t.group.Layer == want.LayerReferences {
		return
	}
	t.settle(r)
	c.proceed(t)
}

// settled takes that the door has decided all events of a request whose task went on meanwhile.
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

// forgetFound lets a task begin again.
func (c *catchup) forgetFound(t *task) {
	c.forgetSettling(t)
	t.forget()
	c.letGo(c.now.Mono)
}

// forgetSettling forgets the requests of a task whose events the door still decides.
func (c *catchup) forgetSettling(t *task) {
	if len(t.settling) == 0 {
		return
	}
	for _, r := range t.takeSettling() {
		c.remove(r)
	}
	c.letGo(c.now.Mono)
}

// fetchEnded lets the tasks go on that wait behind t, if t has all events that it requested by id.
func (c *catchup) fetchEnded(t *task) {
	if len(t.neg.Needs())+len(t.settling) == 0 {
		c.letGo(c.now.Mono)
	}
}
