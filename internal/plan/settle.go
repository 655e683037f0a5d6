package plan

import (
	"slices"

	"github.com/graspd/graspd/internal/coverage"
	"github.com/graspd/graspd/internal/want"
)

// The relay need not wait for our own door: while that decides what one request by id brought, the next one is sent.

// mostSettling is how many requests by id of one reconciliation may wait for the door beside the one that is open.
const mostSettling = 4

// settle lets a task go on that has more to ask by id, though not all of what r brought is decided.
func (p *Peer) settle(r *request) {
	t, n := r.task, r.neg
	if n == nil || len(n.need) == 0 || len(n.settling) == mostSettling || t.group.layer == want.LayerReferences {
		return
	}
	n.settling = append(n.settling, r)
	t.req = nil
	p.proceed(t)
}

// settled takes a request of which all is decided while its task went on.
func (p *Peer) settled(r *request) {
	delete(p.conn.requests, r.sub)
	t, n := r.task, r.neg
	n.settling = slices.DeleteFunc(n.settling, func(x *request) bool { return x == r })
	running := slices.Contains(p.conn.running, t)
	if r.failed {
		p.abandon(t)
		p.forgetFound(t)
		if running {
			p.taskFailed(t, whyNotStored)
		}
		return
	}
	n.chunkDone(r)
	switch {
	case t.req == nil:
		p.fetchEnded(t)
		if running {
			p.proceed(t)
		}
	case t.req.kind == asksIDs && t.req.answered:
		p.settle(t.req)
	}
}

// forgetFound has a task begin again.
func (p *Peer) forgetFound(t *task) {
	p.forgetSettling(t)
	t.pager, t.neg, t.tally = nil, nil, coverage.Tally{}
	p.conn.letGo(p.now.Mono)
}

// forgetSettling makes what is still to be decided nobody's.
func (p *Peer) forgetSettling(t *task) {
	if t.neg == nil || len(t.neg.settling) == 0 {
		return
	}
	for _, r := range t.neg.settling {
		delete(p.conn.requests, r.sub)
	}
	t.neg.settling = nil
	p.conn.letGo(p.now.Mono)
}

// fetchEnded has tasks go on that wait for t, if it has all that it asked for by id.
func (p *Peer) fetchEnded(t *task) {
	if len(t.neg.need)+len(t.neg.settling) == 0 {
		p.conn.letGo(p.now.Mono)
	}
}
