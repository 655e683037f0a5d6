package peer

import (
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/peer/reconcile"
)

// asks says what a request is for.
type asks uint8

const (
	asksLive asks = iota
	asksPage
	asksIDs
	asksProbe // for anything below what a reconciliation showed
	asksNeg   // is a reconciliation
	asksStore // nothing of the relay: needed ids are looked up here
	asksKinds // for anything with kinds of what brought nothing without
	asksTrial // for anything about suspects
)

// request is one REQ or reconciliation that the relay has not finished.
type request struct {
	demands.RequestMode
	sub       string
	kind      asks
	live      *livesubs.REQ    // of asksLive
	task      *task            // of the others
	filter    nostr.Filter     // of asksNeg
	batch     *reconcile.Batch // of asksIDs
	opened    bool             // of asksNeg: the NEG-OPEN was sent
	heard     bool             // of asksNeg: an answer came
	proofs    int              // events that asksKinds brought
	undecided int
	events    int  // that came
	most      int  // events that are read
	alone     bool // no other stored request was open when it was sent
	answered  bool // EOSE came
	failed    bool // an event could not be decided for a reason of our own
	begun     time.Duration
	progress  time.Duration
}

// request opens a stored REQ for a running task.
func (c *catchup) request(t *task, kind asks, f nostr.Filter) *request {
	r := &request{
		sub: c.newSub("s"), kind: kind, task: t, RequestMode: c.demands.requestModeOf(t, f), most: *f.Limit + requestRoom, begun: c.now.Mono, progress: c.now.Mono,
		alone: c.openREQs() == 0,
	}
	c.add(r)
	c.references.count(t)
	c.paced()
	c.effect(Request{Sub: r.sub, Class: t.group.class, Filters: []nostr.Filter{r.Mode.With(f)}})
	return r
}

// endRequest forgets what a task has open, for it to be asked again.
func (c *catchup) endRequest(t *task) {
	r := t.req
	c.remove(r)
	switch r.kind {
	case asksPage:
		t.pager.Again()
	case asksIDs:
		r.batch.PutBack()
		c.letGo(c.now.Mono)
	}
}

// received notes an event of an open request. It reports whether that ended the request.
func (p *Peer) received(in Received) bool {
	p.conn.harm.Good()
	r := p.conn.requests[in.Sub]
	if r == nil {
		return false
	}
	r.undecided++
	r.events++
	r.progress = p.now.Mono
	switch r.kind {
	case asksPage:
		r.task.pager.Received(in.ID, in.At)
		p.demands.kinds.Brought(r.RequestMode)
	case asksKinds:
		r.proofs++
	}
	if r.task != nil && r.task.neg != nil {
		r.task.neg.Received(nostr.Stamp{CreatedAt: in.At, ID: in.ID})
	}
	if r.streams() && r.readAll() {
		p.conn.overrun(r)
		return true
	}
	return false
}

// decided notes a verdict; the last one of an answered request completes it.
// It reports whether that may have changed more than the request.
func (p *Peer) decided(in Decided) bool {
	if in.Outcome == policy.Invalid && !p.comparing.forged.Note(in.ID) {
		if p.unasked(1); p.conn == nil {
			return true
		}
	}
	r := p.conn.requests[in.Sub]
	if r == nil {
		return false
	}
	r.undecided--
	r.progress = p.now.Mono
	if r.task != nil {
		p.conn.doorAt = p.now.Mono
	}
	r.failed = r.failed || in.Failed
	if in.New {
		p.count(r)
		if r.task != nil {
			p.left.narrow = 0
			p.dialing.Progress()
		}
		if in.Outcome == policy.Accept {
			p.noteGap(r, in.Event)
		}
	}
	if r.live != nil {
		if r.live.Whole {
			p.unfiltered.decided(in.Outcome)
		}
		if in.Failed {
			p.conn.liveFailed(r.live)
		}
		return in.Failed || p.unfiltered.leave > 0
	}
	if !in.Failed { // what is forged is not asked for again
		if r.batch != nil {
			r.batch.Came(in.ID)
		}
		if n := r.task.neg; n != nil {
			n.Arrived(in.ID)
		}
	}
	if r.answered && r.undecided == 0 {
		p.conn.answered(r)
		return true
	}
	return false
}

func (p *Peer) count(r *request) {
	switch {
	case r.task == nil:
		p.counted.Live++
	case r.task.group.class == Daily:
		p.counted.Daily++
	default:
		p.counted.Catchup++
	}
}

// eose ends the stored part of a request. It frees no slot at the relay, so
// stored requests are closed as well. It counts only when every event received
// before it is decided.
func (p *Peer) eose(sub string) {
	p.conn.ended.Answered(sub)
	r := p.conn.requests[sub]
	if r == nil || r.answered || r.kind == asksNeg {
		return
	}
	r.answered = true
	p.demands.answered(r)
	if r.live != nil {
		p.conn.liveOpened(r.live)
		return
	}
	p.conn.closeReq(sub)
	if r.undecided == 0 {
		p.conn.answered(r)
		return
	}
	p.conn.goAhead(r)
}

// whyNotStored: what could not be stored is not known to be here, so its task starts over.
const whyNotStored = "events could not be stored"

// answered goes on with a task whose request is answered and decided.
func (c *catchup) answered(r *request) {
	t := r.task
	if t.req != r {
		c.allDecided(r)
		return
	}
	if r.kind == asksTrial {
		c.suspects.trialAnswered()
		return
	}
	c.remove(r)
	if r.failed {
		c.forgetFound(t)
		c.taskFailed(t, whyNotStored)
		return
	}
	switch r.kind {
	case asksPage:
		t.pager.Done(r.most - requestRoom)
	case asksIDs:
		r.batch.Answered()
		c.left.gave(c.limits.IDs())
		c.fetchEnded(t)
	case asksProbe:
		c.comparing.probeDone(t)
		return
	case asksKinds:
		t.doubted = true
		if r.proofs > 0 {
			c.peer.kindsEmptied()
			return
		}
	}
	c.proceed(t)
}

// expire fails requests without progress, and those that go on for too long. Time in which our own door decides
// what was received does not count, nor does the reading of our own set.
func (c *catchup) expire() {
	for _, t := range append([]*task(nil), c.running...) {
		switch r := t.req; {
		case r == nil:
		case r.streams() && c.now.Mono >= r.begun+longestRequest:
			c.overrun(r)
		case !r.awaited() || c.now.Mono < c.silentSince(r)+r.patience():
		case r.kind == asksTrial:
			c.suspects.trialFailed(false, "no answer")
		case r.kind == asksNeg:
			c.comparing.negSilent(r)
		case r.kind == asksPage && c.demands.upperRefused(r, ""):
			c.abandon(t)
			c.leaveUpper(t)
		default:
			if r.kind == asksIDs { // it may be too much for a relay that does not say so
				c.limits.UsualIDs()
			}
			c.unanswered(r, "no answer")
		}
	}
}

// patience is for how long nothing may come of a request.
func (r *request) patience() time.Duration {
	if r.kind == asksTrial {
		return trialSilence
	}
	return silence
}

// awaited says whether it is the relay's turn.
func (r *request) awaited() bool {
	return r.undecided == 0 && !r.answered && (r.kind != asksNeg || r.opened)
}

// unheard says whether a reconciliation is open, and no answer came yet.
func (r *request) unheard() bool { return r.kind == asksNeg && r.opened && !r.heard }

// askPage sends the pager's next query, or goes on at its end.
func (c *catchup) askPage(t *task) {
	if t.group.unfiltered != nil {
		t.group.unfiltered.paged(t)
		return
	}
	s, ok := t.pager.Next()
	if !ok && c.demands.maybeNeedsKinds(t, !c.comparing.pages()) {
		c.request(t, asksKinds, doubt(t))
		return
	}
	if !ok {
		if t.endPaging() {
			c.report(LevelWarn, "possible gap: the relay may have more than it sends: too much of one second, or now this and now that", "filter", t.filter.Key())
		}
		if t.neg == nil {
			c.taskDone(t)
			return
		}
		c.comparing.reconcile(t)
		return
	}
	f := s.Narrow(t.filter)
	f.Limit = new(c.limits.Page())
	c.request(t, asksPage, f)
}

// kindsEmptied begins anew with a relay that was found to answer filters without kinds with nothing:
// nothing that it was asked so far counts, and what is live is not.
func (p *Peer) kindsEmptied() {
	p.demands.silentWithoutKinds()
	p.unprove()
	p.recatch(Catchup)
	p.conn.planner.Isolate(p.conn.isolation)
}
