package plan

import (
	"time"

	"github.com/graspd/graspd/internal/demands"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/want"
)

// A relay that holds nearly what is held here, and little else, is asked as a
// whole: one live REQ without a filter follows it, and one reconciliation without
// a filter stands for all others. Whether a relay is like that is found out by
// such a reconciliation when nothing else is left to ask. It goes on like that
// from its next connection or full resync on.

const (
	wholeSlack    = 1000               // events in which both sides may differ, besides a twentieth of ours
	mostWhole     = 1_000_000          // events here; with more it is not tried
	leastJudged   = 500                // live events, of which most must be wanted
	mostWholeLost = 3                  // connections that end before a comparison does
	wholeCalm     = 15 * time.Second   // what is wanted hardly grows for so long before it is tried
	wholeGapWait  = 7 * 24 * time.Hour // after a live REQ without a filter did not bring everything
)

// likeness is what is known of a relay in this regard. It outlives connections.
type likeness struct {
	alike bool
	after time.Duration // it is not tried before
	lost  int           // connections in a row that ended before a comparison did
}

// whole is how a connection stands in this regard.
type whole struct {
	on     bool          // one live REQ is to follow everything
	live   *liveReq      // that one, when it was sent
	opened int64         // when that one opened, in Unix seconds
	ended  bool          // this ended in the current step
	events int           // that the live REQ brought
	idle   int           // of those, what nobody wants
	leave  time.Duration // this is to end, and not to be tried again for so long
	asking string        // Sub of an Attribute that is not answered
	items  int           // were wanted when everything was confirmed
	calmAt time.Duration // when that is long ago
}

// bearsWhole says whether there may be a reason to ask the relay as a whole.
func (p *Peer) bearsWhole() bool {
	return p.now.Mono >= p.likeness.after && p.wanted.n >= p.cfg.WholeFrom && !p.pagesOnly() &&
		(p.neg == negUnknown || p.neg == negWorks) && p.demands.kinds.Mode() == demands.NoKinds && p.conn.limits.live() > 0
}

// tendWhole ends what has turned out not to be worth it, and finds out about
// relays of which nothing is known.
func (p *Peer) tendWhole() {
	c := p.conn
	if w := &c.whole; w.leave > 0 {
		p.unlike(w.leave, "it brings what is not wanted, or not what is")
		w.leave = 0
	}
	if c.whole.on || p.likeness.alike || p.neg != negWorks || !p.bearsWhole() || !p.Settled() ||
		p.now.Mono < c.pausedTill || c.slow || len(c.groups)+len(c.waiting) > 0 || c.unsettled() {
		return
	}
	// What is confirmed first leads to more: each repository to its root events.
	if n := p.wanted.n; n > c.whole.items+c.whole.items/20 {
		c.whole.items, c.whole.calmAt = n, p.now.Mono+wholeCalm
	} else {
		c.whole.items = min(c.whole.items, n)
	}
	if p.now.Mono < c.whole.calmAt {
		return
	}
	p.likeness.after = p.now.Mono + p.cfg.Resync // unless it comes to an end
	p.compareWhole(nil, Catchup)
}

// openWhole has everything that waits followed by the one live REQ.
func (p *Peer) openWhole() {
	c := p.conn
	if p.now.Mono < c.pausedTill {
		return
	}
	if c.whole.live != nil {
		p.suspectOdd()
	}
	var lots []lot
	left := c.waiting[:0]
	for _, w := range c.waiting {
		if w.after > p.now.Mono {
			left = append(left, w)
			continue
		}
		lots = addLot(lots, w.lot)
	}
	clear(c.waiting[len(left):])
	c.waiting = left
	if len(lots) == 0 {
		return
	}
	l := c.whole.live
	if l == nil {
		l = &liveReq{whole: true}
		c.whole.live = l
		l.lots = lots
		p.sendLive(l, []nostr.Filter{{}}, 1)
		return
	}
	for _, x := range lots {
		l.lots = addLot(l.lots, x)
	}
	if !l.open {
		return
	}
	c.follow(lots, p.now)
	for _, x := range lots {
		p.addGroups(x, Catchup, false)
	}
}

// compareWhole compares all that is here with all that the relay has. That
// confirms the items; without any it only tells whether the two are alike.
func (p *Peer) compareWhole(lots []lot, class Class) {
	g := &group{lot: lot{layer: want.LayerRoots, items: itemsOf(lots)}, class: class, whole: true}
	t := &task{group: g}
	g.tasks, g.open = []*task{t}, 1
	p.conn.groups = append(p.conn.groups, g)
	p.conn.ready[g.layer].Push(t)
}

// mayDiffer returns in how many events both sides may differ in the window at hand.
func (t *task) mayDiffer() int { return wholeSlack + (t.held+t.neg.set.Len())/20 - t.differ }

// becomeWhole has a connection go on with everything as a whole, where that is
// known to be worth it. What is followed by items is to be asked again anyway.
func (p *Peer) becomeWhole() {
	c := p.conn
	if c.whole.on || !p.likeness.alike || !p.bearsWhole() {
		return
	}
	for len(c.following.live) > 0 {
		l := c.following.live[0]
		p.closeLive(l)
		for _, x := range l.lots {
			x.since = 0
			c.waiting = append(c.waiting, &waiting{lot: x})
		}
	}
	c.whole.on = true
}
