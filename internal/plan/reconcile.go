package plan

import (
	"github.com/graspd/graspd/internal/negentropy"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/refusal"
)

// negSupport is what is known of a relay's NIP-77.
type negSupport uint8

const (
	negUnknown negSupport = iota
	negWorks
	negTruncates // works for the newest events only
	negRefused
)

func (n negSupport) String() string {
	return [...]string{"unknown", "works", "truncates", "refused"}[n]
}

// mostOpens bounds the NEG-OPENs of one filter; then it is paged.
const mostOpens = 4096

// reconciliation is NIP-77 for one filter: compare one range of times after the
// other, each followed by fetching what is needed.
type reconciliation struct {
	fetching
	windows  []span       // not compared yet: the last one next
	filter   nostr.Filter // of the window being compared
	set      *negentropy.Set
	values   []int16 // of the set, as Loaded has them
	init     *negentropy.Initiator
	have     map[[32]byte]struct{} // what the relay lacks of the set
	edge     edge
	opens    int
	opened   bool // NEG-OPEN was sent
	heard    bool // an answer came
	reopened bool // after a lost session
	probe    bool // the window was compared and may be cut below
	cut      bool // not all was compared, the rest was paged
}

// pagesOnly says whether nothing is reconciled on this connection, whatever the relay can do.
func (p *Peer) pagesOnly() bool { return p.cfg.NoNegentropy || p.conn != nil && p.conn.outsider }

// reconcile takes a task to its next step: fetch, compare, ask again, or end.
func (p *Peer) reconcile(t *task) {
	if t.neg == nil {
		t.neg = &reconciliation{windows: []span{{since: t.group.since, until: forever}}}
	}
	n := t.neg
	switch {
	case len(n.need) > 0 && n.unread: // also what a comparison showed before it was interrupted
		p.sift(t)
	case len(n.need) > 0:
		p.fetch(t)
	case len(n.settling) > 0: // goes on when the last one is decided
	case n.ended() && !t.group.whole && p.waitBehind(t):
	case n.ended() && n.secondRound():
		p.sift(t)
	case n.probe:
		p.probe(t)
	case len(n.windows) > 0 && (p.neg == negRefused || n.opens >= mostOpens):
		p.pageWindows(t)
	case len(n.windows) > 0:
		p.load(t)
	case p.lastRound(t):
		t.pager = newPager(span{since: t.group.since, until: forever})
		p.askPage(t)
	default:
		if t.filter.IDs == nil { // or the relay never said that it has them
			p.counted.Undelivered += uint64(len(n.missing))
			p.withheld.note(n.missing, n.round == 2, p.now.Mono)
		}
		t.tally.Complete = !n.cut
		p.taskDone(t)
	}
}

// load asks for the local set first; the NEG-OPEN follows when it is there.
func (p *Peer) load(t *task) {
	n := t.neg
	n.opened, n.heard, n.have = false, false, nil
	t.req = &request{sub: p.newSub("n"), kind: asksNeg, task: t, progress: p.now.Mono}
	t.req.Manner = p.demands.mannerOf(t, t.filter)
	p.conn.requests[t.req.sub] = t.req
	n.filter = t.req.Mode.With(n.window().narrow(t.filter))
	e := LoadSet{Sub: t.req.sub, Filter: n.filter}
	if t.group.whole {
		e.Most = mostWhole
	}
	p.effect(e)
}

// ended says that nothing is being compared: what a window showed is being fetched, or all is compared.
func (n *reconciliation) ended() bool { return n.probe || len(n.windows) == 0 }

func (n *reconciliation) window() span { return n.windows[len(n.windows)-1] }

// session returns the open reconciliation of sub.
func (p *Peer) session(sub string) (*request, *reconciliation) {
	if r := p.conn.requests[sub]; r != nil && r.kind == asksNeg {
		return r, r.task.neg
	}
	return nil, nil
}

func (p *Peer) loaded(in Loaded) {
	r, n := p.session(in.Sub)
	if r == nil || n.opened {
		return
	}
	if in.Large {
		p.whole.unlike(p.cfg.Resync, "too much is here")
		return
	}
	if in.Set == nil {
		p.taskFailed(r.task, "local set could not be read")
		return
	}
	n.values = in.Values
	n.set, n.init, n.opened = in.Set, negentropy.NewInitiator(in.Set, p.conn.limits.frame()), true
	if r.task.group.whole {
		n.init.Bound(max(1, r.task.mayDiffer()))
	}
	n.opens++
	p.conn.references.count(r.task)
	p.conn.paced()
	r.progress = p.now.Mono
	r.Authorized = p.demands.auth.Granted()
	first := n.init.Start()
	p.counted.NegSent += hexLen(first)
	p.effect(OpenNeg{Sub: in.Sub, Filter: n.filter, Msg: first})
}

func (p *Peer) negMsg(sub string, msg []byte) {
	r, n := p.session(sub)
	if r == nil || !n.opened {
		return
	}
	t := r.task
	n.heard, r.progress = true, p.now.Mono
	reply, have, need, err := n.init.Step(msg)
	n.learn(have, need)
	p.counted.Rounds++
	p.counted.NegReceived += hexLen(msg)
	p.counted.NegSent += hexLen(reply)
	switch {
	case err != nil || len(n.need)+len(n.late)+len(n.missing) > p.needed:
		p.abandon(t)
		p.report(Debug, "reconciliation failed, paging", "cause", err)
		p.pageWindows(t)
	case reply != nil:
		p.effect(ContinueNeg{Sub: sub, Msg: reply})
	default:
		p.compared(t)
	}
}

// hexLen is how many bytes a message takes on the wire.
func hexLen(msg []byte) uint64 { return 2 * uint64(len(msg)) }

// compared ends one window.
func (p *Peer) compared(t *task) {
	n := t.neg
	if p.neg != negTruncates {
		p.neg = negWorks
	}
	p.abandon(t)
	t.tallyWindow()
	t.differ, t.held = t.differ+len(n.have)+len(n.need), t.held+n.set.Len()
	if n.edge.hidden == nil {
		p.counted.Equal += uint64(n.set.Len() - len(n.have))
	}
	p.doubted(n)
	n.dateLocal()
	n.release()
	n.probe = true
	n.reopened = false
	if len(n.need) > 0 {
		p.sift(t)
		return
	}
	p.proceed(t)
}

// sift has the needed ids looked up here. A relay may take more for a match
// than the filter says, such as events with the value under another tag: its
// set then holds what the local set for the filter does not, though it is here.
func (p *Peer) sift(t *task) {
	t.req = &request{sub: p.newSub("k"), kind: asksStore, task: t, answered: true}
	p.conn.requests[t.req.sub] = t.req
	p.effect(Sift{Sub: t.req.sub, IDs: t.neg.need})
}

func (p *Peer) sifted(in Sifted) {
	r := p.conn.requests[in.Sub]
	if r == nil || r.kind != asksStore {
		return
	}
	t := r.task
	p.endRequest(t)
	if in.Failed {
		p.taskFailed(t, "needed ids could not be looked up")
		return
	}
	t.neg.need, t.neg.unread = in.Unknown, false
	for _, x := range in.Known {
		t.neg.edge.date(x.ID, x.At)
	}
	if t.neg.round == 0 && !t.group.whole {
		t.neg.leave(p.elsewhere(t))
	}
	p.fetchEnded(t)
	p.proceed(t)
}

// negErr handles an error of a reconciliation, under whatever label it comes.
// The relay has ended the session.
func (p *Peer) negErr(sub, text string, most int64) {
	r, n := p.session(sub)
	if r == nil || !n.opened {
		return
	}
	t := r.task
	p.endRequest(t)
	switch why := refusal.Of(text); {
	case p.awaitAuth(t, why, r.Manner):
	case r.Kindless && p.demands.kinds.Refused(r.Mode, text):
		p.proceed(t)
	case why == refusal.Value && p.suspects.suspectGroup(t.group):
	case refusal.NegTooBig(text, most):
		p.split(t)
	case why.Crowded():
		p.pause()
		if t.group.whole {
			p.whole.crowded(t, text)
			return
		}
		p.park(t)
	case refusal.NegLost(text) && !n.reopened:
		n.reopened = true
		p.proceed(t)
	default:
		p.negFailed(t, text)
	}
}

// split halves the window that the relay finds too big: where the local set
// has its middle, or in time.
func (p *Peer) split(t *task) {
	n := t.neg
	w := n.window()
	lo, hi := max(w.since, oldestPlausible), min(w.until, max(p.now.Wall.Unix(), oldestPlausible))
	if n.opens >= mostOpens || lo >= hi {
		p.pageWindows(t)
		return
	}
	at := lo + (hi-lo)/2
	if k := n.set.Len(); k > 0 {
		at = min(max(int64(n.set.At(k/2).Time)-1, lo), hi-1)
	}
	n.windows = append(n.windows[:len(n.windows)-1], span{w.since, at}, span{at + 1, w.until})
	p.proceed(t)
}

// oldestPlausible is the creation time before which hardly any event lies (2020).
const oldestPlausible = 1_577_836_800

// negSilent handles a NEG-OPEN or NEG-MSG without answer.
func (p *Peer) negSilent(t *task) {
	p.abandon(t)
	p.negFailed(t, "no answer")
}

// negFailed reads the filter by paging, and all others until the next full
// resync if the relay never answered a reconciliation.
func (p *Peer) negFailed(t *task, why string) {
	if t.group.whole {
		p.whole.unlike(p.cfg.Resync, why)
		return
	}
	if p.neg == negUnknown && !t.neg.heard {
		p.noNegentropy(why)
	}
	p.pageWindows(t)
}

func (p *Peer) noNegentropy(why string) {
	p.neg = negRefused
	if !p.negLogged {
		p.negLogged = true
		p.report(Info, "no negentropy, paging instead", "cause", why)
	}
}

// pageWindows reads what has not been compared by paging.
func (p *Peer) pageWindows(t *task) {
	n := t.neg
	s := n.windows[0]
	for _, w := range n.windows {
		s.since, s.until = min(s.since, w.since), max(s.until, w.until)
	}
	n.windows, n.need, n.probe, n.cut = nil, nil, false, true
	t.pager = newPager(s)
	p.proceed(t)
}
