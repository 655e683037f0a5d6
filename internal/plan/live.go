package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/demands"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/want"
)

// following is the live side of a connection. An item that is wanted stands in
// exactly one place: it waits, or it is in the lots of one live REQ, or it is swept.
type following struct {
	live       []*liveReq
	waiting    []*waiting
	sweeps     []*sweep      // in order of time
	rising     rising        // of those that are swept
	turn       time.Duration // what the last of them took
	shrunk     bool          // items were taken back since the last look
	mergeAfter time.Duration // a refused merge is not tried again before
}

// liveReq is one live REQ. What is looked at of every one whenever anything happens comes first, in one line of the cache.
type liveReq struct {
	demands.Manner
	apart   apart
	open    bool
	whole   bool // it follows everything, whatever it is for
	vanish  bool // requests to vanish too
	filters int
	parts   []*liveReq // it is to stand in for these as well
	by      *liveReq   // is to stand in for this one
	openAt  time.Duration

	sub     string
	lots    []lot
	size    size // with that of its parts
	limit   int
	values  int
	longest int // list of its filters
	tries   int
	sent    Now
}

// values returns how many values a live filter carries: more where the usual
// number would not fit the relay's limits.
func (p *Peer) values() int {
	c := p.conn.limits
	repos := len(p.want.Repos)
	need := 1 + 5*ceil(repos, c.values) + 3*ceil(p.wanted.n-repos, c.values)
	if need > c.filters*c.live() {
		return c.dense()
	}
	return c.values
}

// tendLive opens, merges and closes live REQs.
func (p *Peer) tendLive() {
	f := &p.conn.following
	if f.shrunk {
		p.shrink()
	}
	for _, l := range slices.Clone(f.live) {
		if !l.open && p.now.Mono >= l.sent.Mono+liveOpenAfter {
			p.liveOpened(l)
		}
		if len(l.parts) > 0 && l.open && p.now.Mono >= l.openAt+mergeLinger {
			p.absorb(l)
		}
	}
	p.closeExcess()
	p.rise()
	p.openWaiting()
	p.mergeFilters()
}

// openWaiting opens live REQs for waiting items as far as the relay's limit
// goes; beyond it they are united with small ones, and what then does not fit
// is swept.
func (p *Peer) openWaiting() {
	c := p.conn
	if c.whole.on {
		p.openWhole()
		return
	}
	p.suspectOdd()
	values := p.values()
	for p.now.Mono >= c.pausedTill {
		room := c.standing() < c.limits.live()
		if !room && (c.unsettled() || p.now.Mono < c.mergeAfter) {
			return
		}
		load := p.fill(values)
		fits := load != nil && p.bears(load.size.message(values))
		switch {
		case load == nil:
			return
		case room && fits:
			p.openLive(load, values)
		case fits && (p.unite(load, values) || p.unite(load, c.limits.dense())):
		case p.evict(load, values):
		default:
			p.sweepInstead(load.lots)
		}
	}
}

// unsettled says that a live REQ is about to open or to be replaced.
func (f *following) unsettled() bool {
	return slices.ContainsFunc(f.live, func(l *liveReq) bool { return !l.open || len(l.parts) > 0 })
}

// openLive sends a live REQ for the lots of l and of its parts.
func (p *Peer) openLive(l *liveReq, values int) {
	var items [want.LayerRoots + 1][]want.Item
	for _, r := range append([]*liveReq{l}, l.parts...) {
		for _, x := range r.lots {
			items[x.layer] = append(items[x.layer], x.items...)
		}
	}
	var filters []nostr.Filter
	for layer := want.LayerAnnouncements; layer <= want.LayerRoots; layer++ {
		if len(items[layer]) > 0 {
			filters = append(filters, filtersOf(p.want, layer, items[layer], true, bounds{values: values})...)
		}
		if layer == want.LayerAnnouncements && len(filters) > 0 {
			filters = p.demands.withVanish(l, filters)
		}
	}
	p.sendLive(l, filters, values)
}

// sendLive sends it.
func (p *Peer) sendLive(l *liveReq, filters []nostr.Filter, values int) {
	l.limit = p.conn.limits.limit
	l.Manner = p.demands.manner(slices.ContainsFunc(filters, func(f nostr.Filter) bool { return f.Kinds == nil }))
	for i := range filters {
		filters[i] = l.Mode.With(filters[i])
		filters[i].Limit = &l.limit
		for _, t := range filters[i].Tags {
			l.longest = max(l.longest, len(t.Values))
		}
	}
	l.sub, l.sent, l.values, l.filters = p.newSub("l"), p.now, values, len(filters)
	p.conn.following.live = append(p.conn.following.live, l)
	p.conn.requests[l.sub] = &request{sub: l.sub, live: l, Manner: l.Manner}
	p.paced()
	p.effect(Request{Sub: l.sub, Class: Live, Filters: filters})
}

// liveOpened begins the catch-up of the items.
func (p *Peer) liveOpened(l *liveReq) {
	if l.open {
		return
	}
	l.open, l.openAt = true, p.now.Mono
	p.conn.follow(l.lots, p.now)
	if l.whole {
		p.conn.whole.opened = p.now.Wall.Unix()
		for _, it := range p.acquit() {
			l.lots = addLot(l.lots, p.lotOf(it))
		}
		p.compareWhole(l.lots, Catchup)
		return
	}
	for _, x := range l.lots {
		p.addGroups(x, Catchup, false)
	}
}

// closeUnanswered ends the live REQs that never got an EOSE, for others to ask
// for their items. Such a REQ may have been lost, and nothing else would tell.
func (p *Peer) closeUnanswered() {
	for _, l := range slices.Clone(p.conn.following.live) {
		if r := p.conn.requests[l.sub]; l.open && !r.answered {
			p.closeLive(l)
		}
	}
}

// closeLive ends a live REQ whose items something else follows or nobody wants.
func (p *Peer) closeLive(l *liveReq) {
	p.closeReq(l.sub)
	p.dropLive(l)
	if l.whole {
		p.conn.whole.on, p.conn.whole.live, p.conn.whole.ended = false, nil, true
	}
}

func (p *Peer) dropLive(l *liveReq) {
	f := &p.conn.following
	f.live = slices.DeleteFunc(f.live, func(x *liveReq) bool { return x == l })
	delete(p.conn.requests, l.sub)
}

// shrink takes items that are wanted no more out of the books and closes live
// REQs that serve nothing.
func (p *Peer) shrink() {
	c := p.conn
	c.shrunk = false
	gone := func(it want.Item) bool { return !p.wanted.has(it) }
	for _, l := range slices.Clone(c.following.live) {
		l.lots = prune(l.lots, gone)
		if len(l.lots) == 0 && len(l.parts) == 0 && l.by == nil {
			p.closeLive(l)
		}
	}
	for _, l := range c.following.live {
		l.size = p.sizeOf(l.lots)
		for _, r := range l.parts {
			l.size = l.size.plus(p.sizeOf(r.lots))
		}
	}
	c.lose(gone)
	for _, g := range c.groups {
		g.items = slices.DeleteFunc(g.items, gone)
	}
	p.dropGroups(func(g *group) bool { return len(g.items) == 0 && !g.whole })
}

// lose takes items out of what waits and what is swept.
func (f *following) lose(gone func(want.Item) bool) {
	for _, w := range f.waiting {
		w.items = slices.DeleteFunc(w.items, gone)
	}
	f.waiting = slices.DeleteFunc(f.waiting, func(w *waiting) bool { return len(w.items) == 0 })
	for _, s := range f.sweeps {
		s.items = slices.DeleteFunc(s.items, gone)
	}
	f.sweeps = slices.DeleteFunc(f.sweeps, func(s *sweep) bool { return len(s.items) == 0 })
}

func prune(lots []lot, gone func(want.Item) bool) []lot {
	for i := range lots {
		lots[i].items = slices.DeleteFunc(lots[i].items, gone)
	}
	return slices.DeleteFunc(lots, func(l lot) bool { return len(l.items) == 0 })
}

// takeBack sets the time of all that waits for a verdict on AUTH.
func (f *following) takeBack(at time.Duration) {
	for _, w := range f.waiting {
		if w.after == never {
			w.after = at
		}
	}
}

// reopenMute sends live REQs again that count as open and were never answered:
// they may have been refused by a NOTICE that came late.
func (p *Peer) reopenMute() {
	mute := func(l *liveReq) bool { r := p.conn.requests[l.sub]; return r != nil && !r.answered }
	p.cancelMergeOf(mute)
	for _, l := range slices.Clone(p.conn.following.live) {
		if mute(l) {
			p.closeLive(l)
			p.requeue(l.lots, l.sent.Wall, p.now.Mono, l.tries)
		}
	}
}

// reopenOutdated sends live REQs again that were opened without the kinds that a relay
// needs, or with kinds that it does not.
func (p *Peer) reopenOutdated() {
	c, outdated := p.conn, p.demands.outdated
	p.cancelMergeOf(outdated)
	for i := slices.IndexFunc(c.following.live, outdated); i >= 0; i = slices.IndexFunc(c.following.live, outdated) {
		l := c.following.live[i]
		p.closeLive(l)
		p.requeue(l.lots, p.now.Wall, 0, 0)
	}
}
