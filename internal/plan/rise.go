package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/want"
)

// Root events that are talked about, and what found no place when it was new, come from the sweep among what is followed live.

// What rises, or is new, may have a large REQ replaced. That happens once in a while for all that waits for it.
const (
	riseInterval = time.Minute
	mostRising   = MaxValues // items at once
)

// rising is what is to be followed.
type rising struct {
	items itemSet
	look  bool          // there may be one of them in the sweep
	after time.Duration // no REQ is thinned before, and nothing rises that might need that
}

// rouse notes the root events that were talked about since the peer was told of old.
func (p *Peer) rouse(old *want.Want) {
	p.want.Roused(old, func(it want.Item) {
		if p.wanted.has(it) {
			p.conn.rising.items.put(it)
			p.conn.rising.look = true
		}
	})
}

// rise takes items out of the sweep that rank above some that are followed. What finds no place all the same is asked
// at once, and swept on. What is being asked follows when it has been.
func (p *Peer) rise() {
	c := p.conn
	r := &c.rising
	if !r.look || p.now.Mono < r.after || c.whole.on {
		return
	}
	var up []want.Item
	least := p.leastLive()
	for _, s := range c.sweeps {
		for _, it := range s.items {
			if r.items.has(it) && p.want.Rank(it) > least {
				up = append(up, it)
			}
		}
	}
	slices.SortFunc(up, func(a, b want.Item) int { return cmp.Compare(p.want.Rank(b), p.want.Rank(a)) })
	var rest itemSet
	for _, g := range c.groups {
		for _, it := range g.items {
			if g.swept && r.items.has(it) {
				rest.put(it)
			}
		}
	}
	r.look = len(up) > mostRising
	for len(up) > mostRising {
		rest.put(up[len(up)-1])
		up = up[:len(up)-1]
	}
	r.items = rest
	if len(up) == 0 {
		return
	}
	out := setOf(slices.Values(up))
	c.lose(out.has)
	for _, it := range up {
		p.confirmed.drop(it)
		l := p.lotOf(it)
		l.since = allAgain
		c.queue(l)
	}
}

// riseLater notes what a REQ was to be thinned for too soon after another.
func (p *Peer) riseLater(load *liveReq) {
	r := &p.conn.rising
	for it := range each(load.lots) {
		r.items.put(it)
		r.look = true
	}
}

// newest returns the highest rank in lots.
func newest(w *want.Want, lots []lot) (at int64) {
	for it := range each(lots) {
		at = max(at, w.Rank(it))
	}
	return at
}

// leastLive returns the lowest rank of what is followed.
func (p *Peer) leastLive() int64 {
	least := int64(forever)
	for _, l := range p.conn.following.live {
		for it := range each(l.lots) {
			least = min(least, p.want.Rank(it))
		}
	}
	return least
}

// thin makes room for load in a live REQ that also has what ranks above it: the root events in it that rank lowest are
// swept. It reports whether there was one.
func (p *Peer) thin(load *liveReq, values int) bool {
	c := p.conn
	if p.now.Mono < c.rising.after {
		p.riseLater(load)
		return false
	}
	than := newest(p.want, load.lots)
	for _, l := range c.following.live {
		if !l.settled() || l.whole || l.apart != load.apart {
			continue
		}
		low, rest := p.lowest(l, load, than, values)
		if len(low) == 0 {
			continue
		}
		out := setOf(slices.Values(low))
		l.lots, l.size = prune(l.lots, out.has), rest
		c.rising.after = p.now.Mono + riseInterval
		p.sweepLater(lot{layer: want.LayerRoots, items: low})
		p.uniteWith(load, []*liveReq{l}, values)
		return true
	}
	return false
}

// lowest returns the root events of l that rank lowest, below that, as many as have to go for load to fit, and the size of
// the rest; none where that cannot be had. What is not confirmed stays, as it is still asked.
func (p *Peer) lowest(l, load *liveReq, than int64, values int) (low []want.Item, rest size) {
	for it := range each(l.lots) {
		if p.want.Rank(it) < than && p.confirmed.has(it) {
			low = append(low, it)
		}
	}
	slices.SortFunc(low, func(a, b want.Item) int { return cmp.Compare(p.want.Rank(a), p.want.Rank(b)) })
	rest = l.size
	for n := range low {
		rest.roots--
		rest.bytes -= 3 * idBytes
		with := rest.plus(load.size)
		if with.fits(p.conn.limits, values) && p.bears(with.message(values)-l.size.message(l.values)) {
			return low[:n+1], rest
		}
	}
	return nil, size{}
}
