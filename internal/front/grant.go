package front

import "container/list"

// holding is what an address or a network has of a pool. It is gone with the last of it.
type holding struct {
	size   int
	grants list.List // of *Grant, the oldest first: those that may be revoked
}

func (s *share) sizeOf(p *Pool) int {
	if h := s.held[p]; h != nil {
		return h.size
	}
	return 0
}

func (s *share) hold(p *Pool, n int) {
	s.holding(p).size += n
	s.tidy(p)
}

func (s *share) holding(p *Pool) *holding {
	h := s.held[p]
	if h == nil {
		h = &holding{}
		s.held[p] = h
	}
	return h
}

func (s *share) tidy(p *Pool) {
	if h := s.held[p]; h != nil && h.size == 0 && h.grants.Len() == 0 {
		delete(s.held, p)
	}
}

// Grant is a part of a pool that something holds until it is given back. A nil grant is of nothing.
type Grant struct {
	pool   *Pool
	of     *Visitor
	size   int
	ended  bool
	revoke func() // ends what holds it, for others; it must not wait
	place  *list.Element
}

// Take gives a part of the pool, or nil and why not. Where there is not enough left, whoever has most of it loses their oldest grants
// first, as long as they have more than who asks would have. What they lose is ended by what Settle was given; until then it stays.
func (p *Pool) Take(one *Visitor, n int) (*Grant, Refusal) {
	for {
		g, why, instead := p.Try(one, n)
		if instead == nil {
			return g, why
		}
		instead.Oust()
	}
}

// Try gives a part of the pool, or says why not, and whose grant is to be taken back to make room.
func (p *Pool) Try(one *Visitor, n int) (g *Grant, why Refusal, instead *Grant) {
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	if why = p.refusal(one, n); why != Granted {
		if why == OverAll {
			instead = p.victim(one, n)
		}
		return nil, why, instead
	}
	p.hold(one, n)
	return &Grant{pool: p, of: one, size: n}, Granted, nil
}

// Oust revokes a grant, unless somebody has done so or it was given back.
func (g *Grant) Oust() {
	if g.unlist() {
		g.revoke()
	}
}

// unlist makes a grant one that cannot be revoked, and reports whether it could be.
func (g *Grant) unlist() bool {
	g.pool.all.mu.Lock()
	defer g.pool.all.mu.Unlock()
	if g.place == nil {
		return false
	}
	g.leaveList()
	return true
}

// leaveList is called with mu held.
func (g *Grant) leaveList() {
	top := g.of.top()
	top.held[g.pool].grants.Remove(g.place)
	g.place = nil
	top.tidy(g.pool)
}

// Enlarge adds to a grant what another one of the same address has, which is no more. It does nothing to one that was given back.
func (g *Grant) Enlarge(by *Grant) {
	g.pool.all.mu.Lock()
	defer g.pool.all.mu.Unlock()
	if g.ended {
		return
	}
	g.size += by.size
	by.size = 0
}

// Settle gives back all of a grant but n. From then on it may be revoked. It does nothing to one that was given back.
func (g *Grant) Settle(n int, revoke func()) {
	g.pool.all.mu.Lock()
	defer g.pool.all.mu.Unlock()
	if g.ended {
		return
	}
	g.pool.hold(g.of, n-g.size)
	g.size = n
	if g.of != nil && revoke != nil && g.place == nil {
		g.revoke = revoke
		g.place = g.of.top().holding(g.pool).grants.PushBack(g)
	}
}

// GiveBack ends a grant.
func (g *Grant) GiveBack() {
	if g == nil {
		return
	}
	g.pool.all.mu.Lock()
	defer g.pool.all.mu.Unlock()
	g.pool.hold(g.of, -g.size)
	g.size, g.ended = 0, true
	if g.place != nil {
		g.leaveList()
	}
}
