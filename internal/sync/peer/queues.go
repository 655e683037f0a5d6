package peer

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/fifo"
	"github.com/graspd/graspd/internal/sync/want"
)

// queues are what waits and what is under way.
type queues struct {
	groups  []*group
	fresh   [want.LayerRoots + 1]fifo.Queue[*group] // not begun, in turn; abandoned ones are skipped
	ready   [want.LayerRoots + 1]fifo.Queue[*task]  // of groups that were begun, in turn; abandoned ones are skipped
	again   fifo.Queue[*task]                       // that an earlier connection has read, but for what came since: they come last
	running []*task                                 // that have a request open, or wait for the door
	later   []*task                                 // put off
}

// leave takes t out of those running and put off.
func (q *queues) leave(t *task) {
	same := func(x *task) bool { return x == t }
	q.running = slices.DeleteFunc(q.running, same)
	q.later = slices.DeleteFunc(q.later, same)
}

// due makes what was put off ready when its time has come.
func (q *queues) due(now time.Duration) {
	q.later = slices.DeleteFunc(q.later, func(t *task) bool {
		if t.after > now {
			return false
		}
		q.ready[t.group.Layer].Push(t)
		return true
	})
}

// waits says whether a question of a lower layer is ready to be asked.
func (q *queues) waits() bool {
	for t := range q.again.All() {
		if !t.over {
			return true
		}
	}
	for layer := want.LayerAnnouncements; layer <= want.LayerRoots; layer++ {
		for t := range q.ready[layer].All() {
			if !t.over {
				return true
			}
		}
		for g := range q.fresh[layer].All() {
			if !g.over {
				return true
			}
		}
	}
	return false
}

// takeBack sets the time of all that waits for a verdict on AUTH.
func (q *queues) takeBack(at time.Duration) {
	for _, t := range q.later {
		if t.after == untilVerdict {
			t.behind, t.after = false, at
		}
	}
}

// letGo lets the tasks go on that wait behind another one, as a request by id has ended.
func (q *queues) letGo(now time.Duration) {
	for _, t := range q.later {
		if t.behind {
			t.behind, t.after = false, now
		}
	}
}

// asking counts the running tasks but for one that have something open at the relay, or go on at once. Those at the door of this relay have not.
func (q *queues) asking(but *task) (n int) {
	for _, t := range q.running {
		if t != but && !t.atDoor() {
			n++
		}
	}
	return n
}

// openREQs counts the stored REQs that are under way.
func (q *queues) openREQs() (n int) {
	for _, t := range q.running {
		if r := t.req; r != nil && r.kind != asksNeg && !r.answered {
			n++
		}
	}
	return n
}

// addBegun adds a group of one task that is ready to be asked.
func (q *queues) addBegun(g *group, t *task) {
	g.tasks, g.open = []*task{t}, 1
	q.groups = append(q.groups, g)
	q.ready[g.Layer].Push(t)
}

// dropOver takes what was abandoned out of the queues when it is more than what waits
// there: while few requests are answered nothing else does, and items come and go.
func (q *queues) dropOver() {
	if q.again.Len() > tasksPerGroup*len(q.groups)+spareQueue {
		q.again.DeleteFunc(func(t *task) bool { return t.over })
	}
	for layer := range q.fresh {
		if fresh := &q.fresh[layer]; fresh.Len() > 2*len(q.groups)+spareQueue {
			fresh.DeleteFunc(func(g *group) bool { return g.over })
		}
		if ready := &q.ready[layer]; ready.Len() > tasksPerGroup*len(q.groups)+spareQueue {
			ready.DeleteFunc(func(t *task) bool { return t.over })
		}
	}
}

// How long the queues may be before they are looked through.
const (
	spareQueue    = 16
	tasksPerGroup = 16 // more than most have
)
