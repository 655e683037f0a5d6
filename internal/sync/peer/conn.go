package peer

import (
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
)

// dial opens a connection.
func (p *Peer) dial() {
	p.phase = phaseDialing
	p.counted.Attempts++
	p.effect(Dial{})
}

// connected begins with live REQs for everything. What was confirmed when the
// relay was last heard, not long ago, is held: only its newest events are asked.
func (p *Peer) connected(in Connected) {
	if p.phase != phaseDialing {
		return
	}
	p.demands.connected(p.lastAlive)
	p.phase, p.lastAlive = phaseOpen, p.now.Wall
	p.dialing.Connected()
	quick := p.hasMark && p.now.Since(p.mark) < p.cfg.QuickReconnect
	if !quick {
		p.forgive()
		p.unconfirm()
		p.mark, p.hasMark = p.now, true
		p.coverage.Begin()
		p.left = left{large: p.left.large}
	}
	p.references.first()
	if p.resyncAt == 0 || !quick {
		p.scheduleResync()
	}
	told := capacity.Of(in.Limits, p.cfg.MaxTags)
	if p.longest > 0 {
		told.MessageTooLong(p.longest)
	}
	p.conn = p.open(told, in.Outsider)
	p.conn.habits = p.left.habits
	since := itemset.SinceTime(p.mark.Wall.Add(-p.cfg.QuickReconnect))
	for _, it := range p.inOrder() {
		if p.suspects.under.Has(it) {
			continue
		}
		l := p.conn.lotOf(it)
		if p.confirmed.Drop(it) {
			p.held.Put(it, p.repository(it))
		}
		if p.held.Has(it) {
			l.Since = since
		}
		p.conn.planner.Queue(l)
	}
	p.report(LevelInfo, "connected", "quick", quick)
}

// forgive forgets at a reconnect what the relay refused long ago: it may grant it
// now. One that hangs up when it is asked to reconcile is not asked again before
// the full resync, or it might never get so far.
func (p *Peer) forgive() {
	p.demands.kinds.Forget()
	p.suspects.again(false)
	p.comparing.forgive(false)
}

func (p *Peer) dialFailed(in DialFailed) {
	if p.phase != phaseDialing {
		return
	}
	p.counted.DialFailures++
	if in.Ourself {
		p.phase = phaseIdle
		p.dialing.IsOurself()
		p.report(LevelInfo, "this address leads to graspd itself: nothing is synced with it")
		return
	}
	if in.SlowIt {
		if wait, ok := p.dialing.Slowed(p.now); ok {
			p.phase = phaseWaiting
			p.report(LevelWarn, "the relay refused the connection: it asks graspd to slow down", "wait", wait)
			return
		}
	}
	p.fail("connection failed", in.Reason)
}

func (p *Peer) disconnected(in Disconnected) {
	if p.phase != phaseOpen {
		return
	}
	if in.Flood {
		p.flooded(in.Reason)
		return
	}
	if !p.tooLong(in.TooLong) {
		p.comparing.hungUp()
		p.unfiltered.hungUp()
	}
	p.fail("connection lost", in.Reason)
}

// tooLong notes how long a message was that ended the connection. It reports whether messages are shorter from now on.
func (p *Peer) tooLong(bytes int) bool {
	limits := p.conn.limits
	if bytes == 0 || !limits.MessageTooLong(bytes) {
		return false
	}
	p.longest = bytes
	return true
}

// fail ends the connection or the attempt and sets the time of the next one.
// What was in flight is forgotten; the mark stays where it was.
func (p *Peer) fail(what, reason string) {
	if p.conn != nil {
		p.conn.forgetPolled()
		if p.conn.leaves() {
			p.dialing.Progress()
		}
	}
	p.references.end()
	p.conn = nil
	p.coverage.Drop()
	p.comparing.end()
	p.suspects.lost()
	p.phase = phaseWaiting
	wait := p.dialing.Failed(p.now, reason)
	if p.dialing.Dead(p.now) {
		p.report(LevelError, "the relay is dead: graspd tries it seldom from now on", "failing", p.dialing.Failing(p.now), "wait", wait, "cause", reason)
		return
	}
	p.report(LevelWarn, what, "attempt", p.dialing.Failures(), "wait", wait, "cause", reason)
}

// unasked counts frames that harm: forged, malformed or not asked for. Too many
// end the connection like a failure.
func (p *Peer) unasked(n int) {
	if p.conn.harm.Bad(n, p.now.Mono) {
		const why = "the relay sent too many messages that are malformed, forged or not asked for"
		p.effect(HangUp{Reason: why})
		p.flooded(why)
	}
}

// flooded fails a connection that this side has ended for what the relay sent on it.
func (p *Peer) flooded(why string) {
	p.fail("graspd closed the connection", why)
	p.dialing.Flooded()
}

// mayCompare says whether the relay may bear to be compared with as a whole.
func (p *Peer) mayCompare() bool {
	return p.comparing.mayWork() && p.demands.kinds.Mode() == demands.NoKinds
}

// close forgets the connection for good: what was confirmed on it does not outlive it, and the next one begins as if the relay had never been heard.
func (p *Peer) close(then phase) {
	p.phase, p.conn, p.left = then, nil, left{}
	p.hasMark = false
}
