package front

import "container/list"

// holding is what an address or a network has of a pool. It is dropped when it becomes empty.
type holding struct {
	size   int
	grants list.List // of *Grant: the grants that may be revoked, the oldest first
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

// Grant is a part of a pool that somebody holds until GiveBack. GiveBack of a nil Grant does nothing.
type Grant struct {
	pool    *Pool
	of      *Visitor
	size    int
	ended   bool
	revoke  func() // ends the holder's use, to make room for others; it must not wait
	element *list.Element
}

// Take takes n of the pool for a visitor. It returns the grant, or nil and why not. Where too little is left, Take revokes the oldest grants
// of whoever has the most, as long as they have more than the visitor would have. It calls the revoke that Shrink was given.
func (p *Pool) Take(one *Visitor, n int) (*Grant, Refusal) {
	for {
		g, why, instead := p.Try(one, n)
		if instead == nil {
			return g, why
		}
		instead.Oust()
	}
}

// Try takes n of the pool for a visitor. It returns the grant, or why not, and the grant that could be revoked to make room.
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

// Oust revokes a grant, unless it was revoked or given back before.
func (g *Grant) Oust() {
	if g.unlist() {
		g.revoke()
	}
}

// unlist takes a grant off the list of those that may be revoked, and reports whether it was on the list.
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

// Shrink gives back all of a grant but n. From then on others may revoke the grant: they call revoke, once, and revoke must not wait. Shrink
// does nothing to a grant that was given back.
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

// GiveBack ends a grant. Callers may call it more than once.
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
