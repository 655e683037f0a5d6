package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/demands"
	"github.com/graspd/graspd/internal/refusal"
	"github.com/graspd/graspd/internal/want"
)

// liveRefused handles a live REQ that the relay refused or ended: its items are
// unconfirmed and go into other REQs, and what was stored from shortly before
// `from` on is asked again.
func (p *Peer) liveRefused(l *liveReq, text string, from time.Time) {
	c := p.conn
	if l.whole {
		p.wholeRefused(l, text, from)
		return
	}
	p.closeLive(l) // a relay may have kept some of its filters
	if p.partLost(l) {
		return
	}
	if len(l.parts) > 0 {
		for _, r := range l.parts {
			r.by = nil
		}
		c.mergeAfter = p.now.Mono + firstRetry
	}
	after := p.now.Mono
	if l.open && p.now.Mono >= l.openAt+stableAfter {
		l.tries = 0
	}
	if l.tries > 0 {
		after += retryDelay(l.tries)
	}
	why := refusal.Of(text)
	switch at, awaited := p.demands.wait(why, l.Manner); {
	case awaited:
		p.requeue(l.lots, from, at, l.tries)
		return
	case p.demands.withoutVanish(l, text, true), l.Kindless && p.demands.kinds.Refused(l.Mode, text),
		(demands.AboutKinds(text) || why == refusal.Restricted) && p.demands.withoutVanish(l, text, false):
		p.requeue(l.lots, from, p.now.Mono, l.tries)
		return
	case why == refusal.Rate:
		p.pause()
		after = c.pausedTill
	case why == refusal.TooMany:
		p.fewer(l.tries)
	case why == refusal.Full && p.full():
		p.requeue(l.lots, from, p.now.Mono, l.tries)
		return
	case why == refusal.TooBig || why == refusal.Full:
		if l.apart == together {
			c.limits.learn(text, l)
		}
	case why == refusal.Auth, why == refusal.Restricted:
		after = p.now.Mono + refusedRetry
		p.reportBarred("live subscription", text)
	case why == refusal.Value && p.suspectLive(l.lots):
		p.requeue(p.withoutSuspects(l.lots), from, p.now.Mono, l.tries)
		return
	default:
		if l.tries > 0 {
			p.mistrust(itemsOf(l.lots))
		}
		if !l.open { // it may be the limit that is refused
			c.limits.limit = 1 - l.limit
		}
		after = p.now.Mono + retryDelay(l.tries+1)
	}
	p.requeue(l.lots, from, after, l.tries+1)
}

// partLost handles the end of a REQ that another one is to stand in for. It
// reports whether that one is open and simply takes over.
func (p *Peer) partLost(l *liveReq) bool {
	m := l.by
	if m == nil {
		return false
	}
	m.parts = slices.DeleteFunc(m.parts, func(r *liveReq) bool { return r == l })
	if m.open {
		m.adopt(l)
		return true
	}
	// What m asks for is a superset now; shrink closes it if nothing else is in it.
	p.conn.shrunk = true
	return false
}

// requeue takes items that no live REQ serves any more back among those that wait.
func (p *Peer) requeue(lots []lot, from time.Time, after time.Duration, tries int) {
	for _, l := range p.unfollow(lots, from) {
		l.apart = p.apart(l)
		p.conn.waiting = append(p.conn.waiting, &waiting{lot: l, after: after, tries: tries})
	}
}

// unfollow unconfirms items that no live REQ serves any more. It returns them as
// they are to be asked again: those that were confirmed from shortly before the
// time from on.
func (p *Peer) unfollow(lots []lot, from time.Time) []lot {
	since := max(1, from.Add(-p.cfg.QuickReconnect).Unix())
	p.dropGroups(holding(lots))
	var out []lot
	for _, l := range lots {
		for _, it := range l.items {
			again := lot{layer: l.layer, apart: l.apart, since: l.since, items: []want.Item{it}}
			if p.confirmed.drop(it) {
				again.since = since
			}
			out = addLot(out, again)
		}
	}
	return out
}

// fewer learns that the relay bears no more REQs than are left after one was
// refused as too many. New ones wait until all refusals that may be under way
// have come: a NOTICE does not say which REQ it is about. Where none is left, it
// is believed only after some tries.
func (p *Peer) fewer(tries int) {
	c := p.conn
	open := len(c.following.live)
	for _, t := range c.running {
		if r := t.req; r != nil && r.kind != asksNeg {
			open++
		}
	}
	switch {
	case open > 0:
		c.limits.subs = min(c.limits.subs, open)
	case tries >= 2:
		c.limits.subs = max(1, c.limits.subs/2)
	}
	c.pausedTill = max(c.pausedTill, p.now.Mono+liveOpenAfter)
	p.cancelMerge()
}

// closeExcess closes the smallest REQs where the relay turned out to bear fewer, and those with the oldest root events
// where all of them are too much together.
func (p *Peer) closeExcess() {
	c := p.conn
	for p.now.Mono >= c.pausedTill && c.standing() > c.limits.live() {
		p.cancelMerge()
		l := slices.MinFunc(c.following.live, func(a, b *liveReq) int { return a.size.items() - b.size.items() })
		p.closeLive(l)
		p.requeue(l.lots, p.now.Wall, 0, 0)
	}
	for p.now.Mono >= c.pausedTill && !p.bears(0) && p.shed(forever) {
	}
}

// liveFailed handles a live event that could not be stored for a reason of our
// own: everything that its REQ serves is asked again later.
func (p *Peer) liveFailed(l *liveReq) {
	if l.by != nil || len(l.parts) > 0 {
		p.cancelMerge()
	}
	if p.conn.requests[l.sub] == nil {
		return
	}
	p.closeLive(l)
	for i := range l.lots {
		l.lots[i].since = min(l.lots[i].since, allAgain)
	}
	p.requeue(l.lots, time.Unix(allAgain, 0), p.now.Mono+retryDelay(l.tries+1), l.tries+1)
}
