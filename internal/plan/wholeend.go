package plan

import (
	"time"

	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/refusal"
)

// How asking a relay as a whole ends: well, for this connection, or for a while.

// wholeDone takes the end of a comparison.
func (p *Peer) wholeDone(t *task) {
	g := t.group
	if !p.likeness.alike {
		p.report(Info, "relay holds nearly what we hold, it is asked as a whole from now on", "count", len(t.lacks))
	}
	p.likeness = likeness{alike: true}
	if len(g.items) > 0 {
		p.coverWhole(t)
	}
}

// wholeFailed has everything asked by items on this connection, after a
// comparison as a whole that came to nothing for a reason that may be gone the
// next time.
func (p *Peer) wholeFailed(t *task, why string) {
	p.report(Debug, "comparison as a whole failed", "cause", why)
	p.abandon(t)
	p.endWhole()
}

// wholePaged takes what would have to be paged, which is too much: either
// something is withheld, and by items it is known where to look, or the relay does
// not compare everything.
func (p *Peer) wholePaged(t *task) {
	n := t.neg
	if n == nil || n.round < 2 {
		p.unlike(p.cfg.Resync, "too much differs, or it cannot be compared")
		return
	}
	p.hidden.note(n.missing, true, p.now.Mono)
	p.wholeFailed(t, "something is withheld")
}

// wholeCrowded asks once more after a pause.
func (p *Peer) wholeCrowded(t *task, text string) {
	if t.tries++; t.tries > 1 {
		p.unlike(p.cfg.Resync, text)
		return
	}
	p.park(t)
}

// unlike does so, and does not try it again for a while.
func (p *Peer) unlike(wait time.Duration, why string) {
	p.notAlike(wait, why)
	p.endWhole()
}

// notAlike has no connection begin as a whole for a while.
func (p *Peer) notAlike(wait time.Duration, why string) {
	if p.likeness.alike {
		p.report(Info, "relay is no longer asked as a whole", "cause", why, "wait", wait)
	}
	p.likeness = likeness{after: max(p.likeness.after, p.now.Mono+wait)}
}

// endWhole has everything followed and asked by items.
func (p *Peer) endWhole() {
	c := p.conn
	p.dropGroups(func(g *group) bool { return g.whole })
	c.whole.on, c.whole.ended = false, true
	if l := c.whole.live; l != nil {
		p.closeLive(l)
		p.requeue(l.lots, p.now.Wall, 0, 0)
	}
}

// wholeRefused handles a CLOSED of the live REQ.
func (p *Peer) wholeRefused(l *liveReq, text string, from time.Time) {
	p.closeLive(l)
	switch why := refusal.Of(text); {
	case why == refusal.Rate:
		p.pause()
	case why.Crowded(), why == refusal.Auth:
	default:
		p.notAlike(p.cfg.Resync, text)
	}
	p.requeue(l.lots, from, p.now.Mono, 0)
}

// wholeLost takes the end of the connection. What ended it again and again, or at
// once, is not asked again for a while.
func (p *Peer) wholeLost() {
	if p.conn.whole.asking != "" { // what it told will not be learnt
		p.coverage.keepLast()
	}
	w, under := &p.conn.whole, false
	at := time.Duration(0) // when the last of it was asked
	if w.live != nil && !w.live.open {
		under, at = true, w.live.sent.Mono
	}
	for _, g := range p.conn.groups {
		if g.whole {
			under = true
			if r := g.tasks[0].req; r != nil && r.kind == asksNeg && g.tasks[0].neg.opened && !g.tasks[0].neg.heard {
				at = r.progress
			}
		}
	}
	if !under {
		return
	}
	p.likeness.lost++
	if at > 0 && p.now.Mono < at+dropAfterOpen || p.likeness.lost >= mostWholeLost {
		p.notAlike(p.cfg.Resync, "connections end with it")
	}
}

// judge notes what the live REQ brought. What another relay brought before tells
// nothing.
func (w *whole) judge(out policy.Outcome, wait time.Duration) {
	switch out {
	case policy.Duplicate:
		return
	case policy.Refuse, policy.Unlisted, policy.Unrelated, policy.NoMaintainer, policy.Discard:
		w.idle++
	}
	w.events++
	if w.events < leastJudged {
		return
	}
	if w.idle > w.events/2 {
		w.leave = max(w.leave, wait)
	}
	w.events, w.idle = 0, 0
}
