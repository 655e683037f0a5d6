package peer

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/peer/coverage"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
)

// catchup is the stored side of a connection: what was stored at the relay before it is followed.
type catchup struct {
	*stepContext
	*itemState
	*connState
	queues
	demands    *requestModes
	live       *following
	suspects   *suspects
	comparing  *comparing
	references *references
	coverage   *coverage.Book
	left       *left
	polledRead reading // of items that nobody follows
	peer       *Peer
}

// addGroups splits a lot into groups that fit stored filters.
func (c *catchup) addGroups(l itemset.Lot, class Class, polled bool) {
	b := c.limits.Bounds()
	items := l.Items
	for len(items) > 0 {
		n, weight := 1, reqfilter.Weight(c.want, items[0])
		for n < len(items) && weight+reqfilter.Weight(c.want, items[n]) <= b.Values {
			weight += reqfilter.Weight(c.want, items[n])
			n++
		}
		l.Items = slices.Clone(items[:n])
		g := &group{Lot: l, class: class, polled: polled}
		c.groups = append(c.groups, g)
		c.fresh[l.Layer].Push(g)
		items = items[n:]
	}
}

// beginGroup makes the tasks of a group.
func (c *catchup) beginGroup(g *group) {
	for _, f := range reqfilter.Of(c.want, g.Layer, g.Items, false, c.limits.Bounds()) {
		t := &task{group: g, filter: f}
		g.tasks = append(g.tasks, t)
		if u, _ := c.left.of(t); u.over {
			c.again.Push(t)
			continue
		}
		c.ready[g.Layer].Push(t)
	}
	if t := c.demands.missedVanish(g); t != nil {
		g.tasks = append(g.tasks, t)
		c.ready[g.Layer].Push(t)
	}
	g.open = len(g.tasks)
}

// dropGroups abandons the catch-up of the groups that match.
func (c *catchup) dropGroups(match func(*group) bool) {
	c.groups = slices.DeleteFunc(c.groups, func(g *group) bool {
		if !match(g) {
			return false
		}
		g.over = true
		for _, t := range g.tasks {
			c.abandon(t)
			c.forgetUndecided(t)
			t.over = true
			c.leave(t)
		}
		return true
	})
}

// abandon closes what a task has open.
func (c *catchup) abandon(t *task) {
	if t.req == nil {
		return
	}
	switch {
	case t.req.answered: // closed already
	case t.req.kind != asksNeg:
		c.closeReq(t.req.sub)
	case t.req.opened:
		c.effect(CloseNeg{Sub: t.req.sub})
	}
	c.endRequest(t)
}

// next takes the task whose turn it is: of the lowest layer, because what that
// brings decides what the next one accepts; nil when there is none. Tasks that
// were put off hold nothing up.
func (c *catchup) next() *task {
	for layer := want.LayerAnnouncements; layer <= want.LayerRoots; layer++ {
		for c.ready[layer].Len()+c.fresh[layer].Len() > 0 {
			if c.ready[layer].Len() == 0 {
				if g := c.fresh[layer].Pop(); !g.over {
					c.beginGroup(g)
				}
				continue
			}
			if t := c.ready[layer].Pop(); !t.over {
				return t
			}
		}
		if slices.ContainsFunc(c.running, func(t *task) bool { return t.group.Layer <= layer }) {
			return nil
		}
	}
	for c.again.Len() > 0 {
		if t := c.again.Pop(); !t.over {
			return t
		}
	}
	if t := c.suspects.nextTrial(); t != nil || c.suspects.task != nil {
		return t
	}
	return c.references.next()
}

// tendTasks starts stored requests: few at once, none while the relay asked
// for a pause. The relay need not wait for the door of this relay: a task for which the door alone has something to do leaves its place to the next one.
func (c *catchup) tendTasks() {
	c.dropOver()
	c.due(c.now.Mono)
	for !c.paused() {
		if c.asking(nil) >= c.atOnce() || len(c.running) >= c.atOnce()+c.beyond() {
			if c.references.makeWay() {
				continue
			}
			return
		}
		t := c.next()
		if t == nil {
			return
		}
		c.running = append(c.running, t)
		c.proceed(t)
	}
}

// atOnce returns how many stored requests may be in flight.
func (c *catchup) atOnce() int {
	if c.slow {
		return 1
	}
	return c.limits.Stored()
}

// proceed takes a running task to its next request.
func (c *catchup) proceed(t *task) {
	switch {
	case t.group.Layer == layerTrial:
		c.suspects.sendTrial(t)
	case t.group.Layer == want.LayerReferences && c.references.inquiry.Spent():
		c.references.over()
	case c.paused() || c.asking(t) >= c.atOnce():
		c.park(t)
	case c.demands.names.Refuses() && demands.Upper(t.filter) && c.comparing.pages():
		c.leaveUpper(t)
	case t.pager != nil:
		c.askPage(t)
	case t.neg == nil && (t.group.Since.Bounded() || c.comparing.pages() || c.isLeft(t)):
		c.begin(t)
	default:
		c.comparing.reconcile(t)
	}
}

// park puts a running task back in front of those that are ready.
func (c *catchup) park(t *task) {
	c.leave(t)
	if t.group.Layer == want.LayerReferences {
		c.references.inquiry.PutBack()
		return
	}
	c.ready[t.group.Layer].PushFront(t)
}

// putOff makes a task wait for its time. What it has learned so far is kept, but
// for the ids that it saw.
func (c *catchup) putOff(t *task, after time.Duration) {
	switch {
	case t.group.Layer == want.LayerReferences:
		c.references.unanswered()
		return
	case t.group.unfiltered != nil:
		t.group.unfiltered.failed(t, "put off")
		return
	}
	c.leave(t)
	if t.pager != nil {
		t.pager.Forget()
	}
	t.after = after
	c.later = append(c.later, t)
}

// taskFailed puts a task off; others go on.
func (c *catchup) taskFailed(t *task, why string) {
	if why != whyNotStored && c.extraFailed(t) {
		return
	}
	c.abandon(t)
	t.tries++
	wait := backoff.RetryDelay(t.tries)
	c.putOff(t, c.now.Mono+wait)
	c.report(LevelDebug, "a request for stored events failed", "cause", why, "wait", wait)
}

// pause stops catch-up for a while, as the relay asked to slow down.
func (c *catchup) pause() {
	c.slower(c.peer.AllConfirmed())
	c.references.inquiry.Slower()
}

// taskDone confirms the group when it was the last of it.
func (c *catchup) taskDone(t *task) {
	if t.group.Layer == want.LayerReferences {
		c.references.answered()
		return
	}
	t.over = true
	c.leave(t)
	g := t.group
	if g.open--; g.open > 0 {
		return
	}
	if g.unfiltered != nil {
		g.unfiltered.done(t)
	}
	if told := g.told(c.confirmed.Has); told != nil {
		c.coverage.Add(c.want, g.Layer, itemset.BitsOf(g.Items).Has, told)
	}
	g.over = true
	c.groups = slices.DeleteFunc(c.groups, func(x *group) bool { return x == g })
	unproven := slices.ContainsFunc(g.tasks, func(t *task) bool { return t.unproven })
	news := slices.ContainsFunc(g.tasks, func(t *task) bool { return !t.again && !t.extra })
	for _, it := range g.Items {
		c.read(it, !g.Since.Bounded(), unproven)
		again := c.held.Drop(it)
		if c.confirmed.Put(it, c.repository(it)) && !again && news {
			c.peer.dialing.Progress()
		}
	}
	if g.polled {
		c.finished(g)
		c.live.planner.Polled(g.Lot, g.due, c.now.Mono)
	}
}

// extraFailed ends a task that nobody waits for. It reports whether t is one.
func (c *catchup) extraFailed(t *task) bool {
	if !t.extra {
		return false
	}
	c.abandon(t)
	c.taskDone(t)
	return true
}

// askPolled has the stored events of polled items asked, whose turn came at the time due.
func (c *catchup) askPolled(l itemset.Lot, due time.Duration) {
	n := len(c.groups)
	c.addGroups(l, Catchup, true)
	for _, g := range c.groups[n:] {
		g.due = due
	}
}

// lose has items asked no more.
func (c *catchup) lose(gone func(want.Item) bool) {
	for _, g := range c.groups {
		g.Items = slices.DeleteFunc(g.Items, gone)
	}
	c.dropGroups(func(g *group) bool { return g.empty() })
}

// regroupWithout has groups asked without the items that match.
func (c *catchup) regroupWithout(is func(want.Item) bool) {
	for _, g := range slices.Clone(c.groups) {
		if !slices.ContainsFunc(g.Items, is) || !g.byItems() {
			continue
		}
		rest := g.Lot
		rest.Items = slices.DeleteFunc(slices.Clone(g.Items), is)
		c.dropGroups(func(x *group) bool { return x == g })
		c.addGroups(rest, g.class, g.polled)
	}
}

// wake names the time at which stored requests need attention.
func (c *catchup) wake() time.Duration {
	w := backoff.Never
	for _, t := range c.running {
		if t.req != nil && t.req.awaited() {
			w = min(w, c.silentSince(t.req)+t.req.patience())
		}
		if t.req != nil && t.req.streams() {
			w = min(w, t.req.begun+longestRequest)
		}
	}
	for _, t := range c.later {
		w = min(w, t.after)
	}
	return min(w, backoff.Later(c.pausedTill, c.now.Mono))
}
