package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/coverage"
	"github.com/graspd/graspd/internal/fifo"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/want"
)

// catchup is the stored side of a connection.
type catchup struct {
	groups  []*group
	fresh   [want.LayerRoots + 1]fifo.Queue[*group] // not begun, in turn; abandoned ones are skipped
	ready   [want.LayerRoots + 1]fifo.Queue[*task]  // of groups that were begun, likewise
	running []*task                                 // that have a request open
	later   []*task                                 // put off
}

// group is up to a hundred items of one layer whose stored filters are asked
// together and that are confirmed together.
type group struct {
	lot
	class Class
	swept bool          // there is no live REQ for them
	over  bool          // done or abandoned
	whole bool          // everything is compared
	due   time.Duration // of swept items that were confirmed before: when their turn came
	tasks []*task       // made when it is begun: thousands of groups may wait
	open  int           // tasks not done
}

// task reads everything that one stored filter matches from the relay.
type task struct {
	group   *group
	filter  nostr.Filter
	after   time.Duration // not before, when put off
	tries   int
	over    bool // done or abandoned
	extra   bool // nobody waits for it: where the relay refuses it, it is done
	behind  bool // it was put off until another has what both need
	doubted bool // it was asked whether the relay answers filters without kinds
	req     *request
	pager   *pager
	tally   coverage.Tally
	neg     *reconciliation
	differ  int        // events of one side only, in the windows that were compared
	held    int        // events here, likewise
	untold  bool       // not all that was compared tells what the relay lacks
	lacks   []nostr.ID // where everything is compared: what the relay lacks of what others are shown
}

// addGroups splits a lot into groups that fit stored filters.
func (p *Peer) addGroups(l lot, class Class, swept bool) {
	b := p.conn.limits.bounds()
	items := l.items
	for len(items) > 0 {
		n, weight := 1, weightOf(p.want, items[0])
		for n < len(items) && weight+weightOf(p.want, items[n]) <= b.values {
			weight += weightOf(p.want, items[n])
			n++
		}
		l.items = slices.Clone(items[:n])
		g := &group{lot: l, class: class, swept: swept}
		p.conn.groups = append(p.conn.groups, g)
		p.conn.fresh[l.layer].Push(g)
		items = items[n:]
	}
}

// begin makes the tasks of a group.
func (p *Peer) begin(g *group) {
	c := p.conn
	for _, f := range filtersOf(p.want, g.layer, g.items, false, c.limits.bounds()) {
		t := &task{group: g, filter: f}
		g.tasks = append(g.tasks, t)
		c.ready[g.layer].Push(t)
	}
	if t := p.demands.missedVanish(g); t != nil {
		g.tasks = append(g.tasks, t)
		c.ready[g.layer].Push(t)
	}
	g.open = len(g.tasks)
}

// weightOf is how many values an item adds to the filters of its layer.
func weightOf(w *want.Want, it want.Item) int {
	if r := w.Repository(it); r != nil {
		return len(r.Addresses)
	}
	return 1
}

// dropGroups abandons the catch-up of the groups that match.
func (p *Peer) dropGroups(match func(*group) bool) {
	c := p.conn
	c.groups = slices.DeleteFunc(c.groups, func(g *group) bool {
		if !match(g) {
			return false
		}
		g.over = true
		for _, t := range g.tasks {
			p.abandon(t)
			p.forgetSettling(t)
			t.over = true
			c.leave(t)
		}
		return true
	})
}

// abandon closes what a task has open.
func (p *Peer) abandon(t *task) {
	if t.req == nil {
		return
	}
	switch {
	case t.req.answered: // closed already
	case t.req.kind != asksNeg:
		p.conn.closeReq(t.req.sub)
	case t.neg.opened:
		p.effect(CloseNeg{Sub: t.req.sub})
	}
	p.endRequest(t)
}

// leave takes t out of those running and put off.
func (c *catchup) leave(t *task) {
	same := func(x *task) bool { return x == t }
	c.running = slices.DeleteFunc(c.running, same)
	c.later = slices.DeleteFunc(c.later, same)
}

// next takes the task whose turn it is: of the lowest layer, because what that
// brings decides what the next one accepts; nil when there is none. Tasks that
// were put off hold nothing up.
func (p *Peer) next() *task {
	c := p.conn
	for layer := want.LayerAnnouncements; layer <= want.LayerRoots; layer++ {
		for c.ready[layer].Len()+c.fresh[layer].Len() > 0 {
			if c.ready[layer].Len() == 0 {
				if g := c.fresh[layer].Pop(); !g.over {
					p.begin(g)
				}
				continue
			}
			if t := c.ready[layer].Pop(); !t.over {
				return t
			}
		}
		if slices.ContainsFunc(c.running, func(t *task) bool { return t.group.layer <= layer }) {
			return nil
		}
	}
	if t := p.suspects.nextTrial(); t != nil {
		return t
	}
	return p.nextReference()
}

// tendTasks starts stored requests: few at once, none while the relay asked
// for a pause.
func (p *Peer) tendTasks() {
	c := p.conn
	c.purge()
	c.later = slices.DeleteFunc(c.later, func(t *task) bool {
		if t.after > p.now.Mono {
			return false
		}
		c.ready[t.group.layer].Push(t)
		return true
	})
	for p.now.Mono >= c.pausedTill {
		if len(c.running) >= p.atOnce() {
			if p.makeWay() {
				continue
			}
			return
		}
		t := p.next()
		if t == nil {
			return
		}
		c.running = append(c.running, t)
		p.proceed(t)
	}
}

// atOnce returns how many stored requests may be in flight.
func (p *Peer) atOnce() int {
	if p.conn.slow {
		return 1
	}
	return p.conn.limits.stored()
}

// proceed takes a running task to its next request.
func (p *Peer) proceed(t *task) {
	switch {
	case t.group.layer == layerTrial:
		p.suspects.sendTrial(t)
	case t.group.layer == want.LayerReferences && p.conn.references.questionSpent():
		p.questionOver()
	case p.now.Mono < p.conn.pausedTill || len(p.conn.running) > p.atOnce():
		p.park(t)
	case t.pager != nil:
		p.askPage(t)
	case t.neg == nil && (t.group.since > allAgain || p.pagesOnly() || p.neg == negRefused):
		t.pager = newPager(span{since: t.group.since, until: forever})
		p.askPage(t)
	default:
		p.reconcile(t)
	}
}

// park puts a running task back in front of those that are ready.
func (p *Peer) park(t *task) {
	c := p.conn
	c.leave(t)
	if t.group.layer == want.LayerReferences {
		c.references.asked.parked = true
		return
	}
	c.ready[t.group.layer].PushFront(t)
}

// putOff makes a task wait for its time. What it has learned so far is kept, but
// for the ids that it saw.
func (p *Peer) putOff(t *task, after time.Duration) {
	c := p.conn
	switch {
	case t.group.layer == want.LayerReferences:
		p.questionFailed()
		return
	case t.group.whole:
		p.whole.failed(t, "put off")
		return
	}
	c.leave(t)
	if t.pager != nil {
		t.pager.forget()
	}
	t.after = after
	c.later = append(c.later, t)
}

// taskFailed puts a task off; others go on.
func (p *Peer) taskFailed(t *task, why string) {
	if why != whyNotStored && p.extraFailed(t) {
		return
	}
	p.abandon(t)
	t.tries++
	p.putOff(t, p.now.Mono+retryDelay(t.tries))
	p.report(Debug, "stored request failed", "cause", why, "wait", retryDelay(t.tries))
}

// retryDelay doubles from a minute to an hour.
func retryDelay(tries int) time.Duration {
	d := firstRetry
	for i := 1; i < tries && d < maxRetry; i++ {
		d *= 2
	}
	return min(d, maxRetry)
}

// pause stops catch-up for a while, as the relay asked to slow down.
func (p *Peer) pause() {
	p.conn.slower(p.Settled())
	p.conn.references.slowed++
}

// taskDone confirms the group when it was the last of it.
func (p *Peer) taskDone(t *task) {
	c := p.conn
	if t.group.layer == want.LayerReferences {
		c.references.failed = 0
		p.questionOver()
		return
	}
	t.over = true
	c.leave(t)
	g := t.group
	if g.open--; g.open > 0 {
		return
	}
	if g.whole {
		p.whole.done(t)
	}
	if told := g.told(p.confirmed.has); told != nil {
		asked := setOf(slices.Values(g.items))
		p.coverage.Add(p.want, g.layer, asked.has, told)
	}
	g.over = true
	c.groups = slices.DeleteFunc(c.groups, func(x *group) bool { return x == g })
	for _, it := range g.items {
		if g.since <= allAgain {
			p.proven.put(it)
		}
		again := p.held.drop(it)
		if p.confirmed.put(it, p.repository(it)) && !again {
			p.failures.Progress()
			p.asked = asked{}
		}
	}
	if g.swept {
		c.sweptDone(g.lot, g.due)
	}
}

// recatch forgets what is confirmed and asks everything again, with live open.
// Swept items are tried live again.
func (p *Peer) recatch(class Class) {
	c := p.conn
	p.coverage.Begin()
	p.unconfirm()
	c.cancelMerge()
	c.closeUnanswered()
	p.dropGroups(func(*group) bool { return true })
	p.dropQuestion()
	p.suspects.dropTrial()
	c.catchup = catchup{}
	c.caughtBy = p.now.Mono + catchUpGrace
	if class == Daily {
		p.whole.become()
	}
	switch {
	case p.whole.asksAll():
		p.suspects.acquit()
	case class == Daily:
		p.suspects.again(true)
	}
	c.askAgain(class, p.suspects.items.has)
}

// extraFailed ends a task that nobody waits for. It reports whether t is one.
func (p *Peer) extraFailed(t *task) bool {
	if !t.extra {
		return false
	}
	p.abandon(t)
	p.taskDone(t)
	return true
}

// takeBack sets the time of all that waits for a verdict on AUTH.
func (c *catchup) takeBack(at time.Duration) {
	for _, t := range c.later {
		if t.after == never {
			t.after = at
		}
	}
}

// addBegun adds a group of one task that is ready to be asked.
func (c *catchup) addBegun(g *group, t *task) {
	g.tasks, g.open = []*task{t}, 1
	c.groups = append(c.groups, g)
	c.ready[g.layer].Push(t)
}

// askSwept has the stored events of swept items asked, whose turn came at the time due.
func (p *Peer) askSwept(l lot, due time.Duration) {
	n := len(p.conn.groups)
	p.addGroups(l, Catchup, true)
	for _, g := range p.conn.groups[n:] {
		g.due = due
	}
}

// eachSwept visits the groups of swept items.
func (c *catchup) eachSwept(visit func(*group)) {
	for _, g := range c.groups {
		if g.swept {
			visit(g)
		}
	}
}

// openREQs counts the stored REQs that are under way.
func (c *catchup) openREQs() (n int) {
	for _, t := range c.running {
		if r := t.req; r != nil && r.kind != asksNeg {
			n++
		}
	}
	return n
}

// empty says whether nothing is left of a group that was asked for its items.
func (g *group) empty() bool { return len(g.items) == 0 && !g.whole }

// lose has items asked no more.
func (p *Peer) lose(gone func(want.Item) bool) {
	for _, g := range p.conn.groups {
		g.items = slices.DeleteFunc(g.items, gone)
	}
	p.dropGroups(func(g *group) bool { return g.empty() })
}

// regroupWithout has groups asked without the items that match.
func (p *Peer) regroupWithout(is func(want.Item) bool) {
	for _, g := range slices.Clone(p.conn.groups) {
		if !slices.ContainsFunc(g.items, is) || g.whole {
			continue
		}
		rest := g.lot
		rest.items = slices.DeleteFunc(slices.Clone(g.items), is)
		p.dropGroups(func(x *group) bool { return x == g })
		p.addGroups(rest, g.class, g.swept)
	}
}
