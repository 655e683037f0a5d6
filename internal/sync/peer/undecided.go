package peer

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// The relay need not wait for the door of this relay: while the door decides the events of one request by id, the next one is sent.

// mostUndecided bounds the requests by id of one task that wait for the door, beside the open one.
const mostUndecided = 4

// mostAtDoor bounds how many tasks run beyond those that the relay is asked for at once, as the door has something to do for others.
const mostAtDoor = 6

// beyond returns how many tasks may run so. Where connections end, none do: what the door has not decided by then is asked for again, and a relay that
// sends little on each connection would never be read.
func (c *catchup) beyond() int {
	if c.habits.Loses() {
		return 0
	}
	return mostAtDoor
}

// atDoor reports whether the relay has answered all that it was asked for a task, and only the door of this relay has something to do for it. What is
// tried comes when nothing else is asked, whoever has something to do.
func (t *task) atDoor() bool {
	switch r := t.req; {
	case t.group.Layer > want.LayerRoots:
		return false
	case r == nil:
		return len(t.undecided) > 0
	default:
		return r.answered && r.kind != asksStore
	}
}

// goAhead lets a task go on that has more ids to request, though the door still decides events of r.
func (c *catchup) goAhead(r *request) {
	t := r.task
	if r.batch == nil || t.neg.Needs() == 0 || len(t.undecided) == mostUndecided || t.group.Layer == want.LayerReferences {
		return
	}
	t.undecided, t.req = append(t.undecided, r), nil
	c.proceed(t)
}

// allDecided records that the door has decided all events of a request whose task went on meanwhile.
func (c *catchup) allDecided(r *request) {
	c.remove(r)
	t := r.task
	t.undecided = slices.DeleteFunc(t.undecided, func(x *request) bool { return x == r })
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
		c.goAhead(t.req)
	}
}

// forgetFound lets a task begin again.
func (c *catchup) forgetFound(t *task) {
	c.forgetUndecided(t)
	t.forget()
	c.letGo(c.now.Mono)
}

// forgetUndecided forgets the requests of a task whose events the door still decides.
func (c *catchup) forgetUndecided(t *task) {
	if len(t.undecided) == 0 {
		return
	}
	for _, r := range t.undecided {
		c.remove(r)
	}
	t.undecided = nil
	c.letGo(c.now.Mono)
}

// elsewhere returns the ids that other tasks request now or next.
func (c *catchup) elsewhere(t *task) map[nostr.ID]struct{} {
	asked := make(map[nostr.ID]struct{})
	if t.group.Layer == want.LayerReferences { // layer 4 makes way for others
		return asked
	}
	for _, o := range c.running {
		if o != t && o.neg != nil {
			o.neg.AddAwaited(asked)
		}
	}
	for o := range c.ready[t.group.Layer].All() { // those that wait for a place again
		if o.neg != nil && !o.over {
			o.neg.AddAwaited(asked)
		}
	}
	return asked
}

// fetchEnded lets the tasks go on that wait behind t, if t has all events that it requested by id.
func (c *catchup) fetchEnded(t *task) {
	if !t.neg.Fetching() {
		c.letGo(c.now.Mono)
	}
}
