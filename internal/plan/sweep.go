package plan

import (
	"slices"
	"time"
)

// sweep is items without a live REQ that are asked again once in a while.
type sweep struct {
	lot
	at time.Duration
}

// sweepInstead catches up items for which there is no room live. Those that are
// confirmed were followed until now.
func (p *Peer) sweepInstead(lots []lot) {
	for _, l := range lots {
		fresh, known := l, lot{layer: l.layer, apart: l.apart}
		fresh.items = nil
		for _, it := range l.items {
			if p.confirmed.has(it) {
				known.items = append(known.items, it)
			} else {
				fresh.items = append(fresh.items, it)
			}
		}
		p.sweepLater(known)
		p.addGroups(fresh, Catchup, true)
	}
}

// sweepLater puts confirmed items off to the next sweep.
func (p *Peer) sweepLater(l lot) {
	if len(l.items) > 0 {
		l.since = 0
		p.conn.sweeps = append(p.conn.sweeps, &sweep{lot: l, at: p.now.Mono + sweepInterval})
	}
}

// forgetSwept unconfirms what was not followed to the end of the connection: the
// mark says nothing about it.
func (p *Peer) forgetSwept() {
	if p.conn == nil {
		return
	}
	drop := func(l lot) {
		for _, it := range l.items {
			p.confirmed.drop(it)
		}
	}
	for _, s := range p.conn.sweeps {
		drop(s.lot)
	}
	for _, g := range p.conn.groups {
		if g.swept {
			drop(g.lot)
		}
	}
}

// tendSweeps asks swept items again whose time has come.
func (p *Peer) tendSweeps() {
	c := p.conn
	due := 0
	for ; due < len(c.sweeps) && c.sweeps[due].at <= p.now.Mono; due++ {
		n := len(c.groups)
		p.addGroups(c.sweeps[due].lot, Catchup, true)
		for _, g := range c.groups[n:] {
			g.due = c.sweeps[due].at
		}
	}
	c.sweeps = slices.Delete(c.sweeps, 0, due)
}

// turnOf returns how long it takes until a swept item is asked again and answered, as far as that is known: the interval, and
// what the last took, or the oldest that is under way takes already.
func (c *session) turnOf(now time.Duration) time.Duration {
	took := c.turn
	for _, g := range c.groups {
		if g.swept && g.due > 0 {
			took = max(took, now-g.due)
		}
	}
	return sweepInterval + took
}
