package peer

import (
	"slices"

	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/want"
)

// CaughtUp says that the announcements are confirmed, and everything else that
// is wanted is confirmed too or was asked in vain and waits for its next turn.
func (p *Peer) CaughtUp() bool {
	c := p.conn
	if c == nil || !p.confirmed.Has(want.Announcements) || c.paused() {
		return false
	}
	if c.planner.Any(func(l *livesubs.REQ) bool { return !l.Open }) ||
		slices.ContainsFunc(c.planner.Waiting(), func(w *livesubs.Waiting) bool { return w.After <= p.now.Mono }) {
		return false
	}
	open := 0
	for _, g := range c.groups {
		if !g.byItems() && len(g.Items) == 0 { // nobody waits for what it finds
			continue
		}
		if g.tasks == nil {
			return false
		}
		open += g.open
	}
	return open == len(c.later)
}

// noteComplete notes the time while everything wanted is confirmed and proven, or was when
// the relay was last heard. While nothing is wanted that is so too.
func (p *Peer) noteComplete() {
	if p.AllConfirmed() {
		p.askedBefore = false
		p.left.pages = nil
	}
	if p.unproven.Len() == 0 && p.confirmed.Len()+p.held.Len()+p.suspects.under.Refused() == p.wanted.Len() {
		p.complete = p.now.Mono
	}
}
