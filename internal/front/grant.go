package front

import "container/list"

// holding is what an address or a network has of a pool. It is dropped when nothing of it is left.
type holding struct {
	size   int
	grants list.List // of *Grant, the oldest first: those that may be revoked
}

func (s *usage) sizeOf(p *Pool) int {
	if h := s.holdings[p]; h != nil {
		return h.size
	}
	return 0
}

func (s *usage) hold(p *Pool, n int) {
	s.holding(p).size += n
	s.tidy(p)
}

func (s *usage) holding(p *Pool) *holding {
	h := s.holdings[p]
	if h == nil {
		h = &holding{}
		s.holdings[p] = h
	}
	return h
}

func (s *usage) tidy(p *Pool) {
	if h := s.holdings[p]; h != nil && h.size == 0 && h.grants.Len() == 0 {
		delete(s.holdings, p)
	}
}

// Grant is a part of a pool that something holds until it is given back. To give back a nil Grant does nothing.
type Grant struct {
	pool    *Pool
	of      *Visitor
	size    int
	ended   bool
	revoke  func() // ends what holds it, for others; it must not wait
	element *list.Element
}

// Take gives a part of the pool, or nil and why not. Where too little is left, whoever has most loses their oldest grants, as long as they
// have more than the asker would have. The revoke that Shrink was given ends what held such a grant; Take calls it.
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
	if g.element == nil {
		return false
	}
	g.removeFromList()
	return true
}

// removeFromList takes a grant off the list of those that may be revoked. The caller holds mu.
func (g *Grant) removeFromList() {
	top := g.of.top()
	top.holdings[g.pool].grants.Remove(g.element)
	g.element = nil
	top.tidy(g.pool)
}

// Enlarge moves the whole size of by, a grant of the same address, into g. It does nothing where g was given back.
func (g *Grant) Enlarge(by *Grant) {
	g.pool.all.mu.Lock()
	defer g.pool.all.mu.Unlock()
	if g.ended {
		return
	}
	g.size += by.size
	by.size = 0
}

// Shrink gives back all of a grant but n. From then on the grant may be revoked: revoke is then called, once, and must not wait. Shrink does
// nothing to a grant that was given back.
func (g *Grant) Shrink(n int, revoke func()) {
	g.pool.all.mu.Lock()
	defer g.pool.all.mu.Unlock()
	if g.ended {
		return
	}
	g.pool.hold(g.of, n-g.size)
	g.size = n
	if g.of != nil && revoke != nil && g.element == nil {
		g.revoke = revoke
		g.element = g.of.top().holding(g.pool).grants.PushBack(g)
	}
}

// GiveBack ends a grant. It may be called more than once.
func (g *Grant) GiveBack() {
	if g == nil {
		return
	}
	g.pool.all.mu.Lock()
	defer g.pool.all.mu.Unlock()
	g.pool.hold(g.of, -g.size)
	g.size, g.ended = 0, true
	if g.element != nil {
		g.removeFromList()
	}
}
