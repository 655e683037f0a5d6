package relay

import "container/list"

// The pools that all clients share.
const (
	connectionPool = iota // WebSocket connections
	filterPool            // bytes of filters
	recordPool            // records of the sets of reconciliations
	messagePool           // bytes of messages that are being read, beyond the first few of each
	poolKinds
)

// pool is an amount of something that all clients share.
type pool struct {
	total   int
	address int // what one address may have of it
	reserve int // what is kept for those who have little
	little  int // which is this at the most
	used    int
}

// network is what the addresses of one network may have together.
func (p *pool) network() int { return min(wholeNetwork*p.address, max(p.address, p.total/2)) }

func newPools(l Limits) [poolKinds]pool {
	part := func(total, address, little int) pool {
		return pool{total: total, address: min(address, total), reserve: total / 8, little: little}
	}
	return [poolKinds]pool{
		connectionPool: part(l.Rates.OpenTotal, l.Rates.Open, 8),
		filterPool:     part(allFilterBytes, addressFilterBytes, 1<<20),
		// A quarter of all, but one of the largest sets in any case.
		recordPool:  part(l.Reconcile.Total, max(l.Reconcile.Total/4, l.Reconcile.Records+reserveStep), 2*reserveStep),
		messagePool: part(allMessageBytes, addressMessageBytes, 2*l.MessageBytes),
	}
}

// holding is what an address or a network has of a pool.
type holding struct {
	size   int
	grants list.List // of *grant, the oldest first: those that may be taken back
}

// grant is a part of a pool that something holds until it is given back. A nil grant is of nothing.
type grant struct {
	of     *visitor
	kind   int
	size   int
	ended  bool
	revoke func() // ends what holds it, for others; it must not wait
	place  *list.Element
}

// refusal says why something is not granted.
type refusal int

const (
	granted     refusal = iota
	overAddress         // its address has as much as it may
	overAll             // there is not enough for all
)

// refusal is called with mu held.
func (v *visitors) refusal(one *visitor, kind, n int) refusal {
	p := &v.pools[kind]
	keep := 0
	if one != nil {
		if one.own.held[kind].size+n > p.address || one.network != nil && one.network.held[kind].size+n > p.network() {
			return overAddress
		}
		if one.top().held[kind].size+n > p.little {
			keep = p.reserve
		}
	}
	if p.used+n > p.total-keep {
		return overAll
	}
	return granted
}

// hold counts what is taken or, below 0, given back. It is called with mu held.
func (v *visitors) hold(one *visitor, kind, n int) {
	v.pools[kind].used += n
	if one == nil {
		return
	}
	one.own.held[kind].size += n
	if one.network != nil {
		one.network.held[kind].size += n
	}
	if top := one.top(); top.held[kind].size == 0 {
		delete(v.holders[kind], top)
	} else {
		v.holders[kind][top] = struct{}{}
	}
}

// grant gives a part of a pool. Where there is not enough left, whoever has most of it loses their oldest grants first, as
// long as they have more than who asks would have. What they lose is ended by revoke; with nil it stays until it is given back.
func (v *visitors) grant(one *visitor, kind, n int, revoke func()) (*grant, refusal) {
	for {
		g, why, instead := v.tryGrant(one, kind, n, revoke)
		if instead == nil {
			return g, why
		}
		v.oust(instead)
	}
}

// tryGrant gives a part of a pool, or says why not, and whose grant is to be taken back to make room.
func (v *visitors) tryGrant(one *visitor, kind, n int, revoke func()) (g *grant, why refusal, instead *grant) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if why = v.refusal(one, kind, n); why != granted {
		if why == overAll {
			instead = v.victim(one, kind, n)
		}
		return nil, why, instead
	}
	v.hold(one, kind, n)
	g = &grant{of: one, kind: kind, size: n}
	v.mayRevoke(g, revoke)
	return g, granted, nil
}

// victim is the oldest grant of whoever has most, nil where nobody has more than who asks would have. It is called with mu
// held.
func (v *visitors) victim(one *visitor, kind, n int) *grant {
	var most *share
	for s := range v.holders[kind] {
		if s.held[kind].grants.Len() > 0 && (most == nil || s.held[kind].size > most.held[kind].size) {
			most = s
		}
	}
	have := n
	if one != nil {
		have += one.top().held[kind].size
	}
	if most == nil || most.held[kind].size <= have {
		return nil
	}
	return most.held[kind].grants.Front().Value.(*grant)
}

// oust revokes a grant, unless somebody has done so or it was given back.
func (v *visitors) oust(g *grant) {
	if v.unlist(g) {
		g.revoke()
	}
}

// unlist makes a grant one that cannot be revoked, and reports whether it could be.
func (v *visitors) unlist(g *grant) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if g.place == nil {
		return false
	}
	g.of.top().held[g.kind].grants.Remove(g.place)
	g.place = nil
	return true
}

// mayRevoke is called with mu held.
func (v *visitors) mayRevoke(g *grant, revoke func()) {
	if g.of != nil && revoke != nil && g.place == nil {
		g.revoke = revoke
		g.place = g.of.top().held[g.kind].grants.PushBack(g)
	}
}

// enlarge adds to a grant what another one of the same address has, which is no more.
func (v *visitors) enlarge(g, by *grant) {
	v.mu.Lock()
	defer v.mu.Unlock()
	g.size += by.size
	by.size = 0
}

// settle gives back all of a grant but n. From then on it may be revoked. It does nothing to one that was given back.
func (v *visitors) settle(g *grant, n int, revoke func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if g.ended {
		return
	}
	v.hold(g.of, g.kind, n-g.size)
	g.size = n
	v.mayRevoke(g, revoke)
}

// giveBack ends a grant.
func (v *visitors) giveBack(g *grant) {
	if g == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hold(g.of, g.kind, -g.size)
	g.size, g.ended = 0, true
	if g.place != nil {
		g.of.top().held[g.kind].grants.Remove(g.place)
		g.place = nil
	}
}
