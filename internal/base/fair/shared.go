package fair

import (
	"cmp"
	"slices"
)

// Of says of whom the grant is from then on: of several parties that use the same thing, of the one that has least. The account looks anew whenever
// there is too little, so whoever shares something does not lose it because another that shares it has much. No bound of a party is looked at.
// The zero Party has least of all. Without parties the grant stays whose it is.
func (g *Grant) Of(parties ...Party) {
	a := g.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if g.ended || len(parties) == 0 {
		return
	}
	g.among = slices.Clone(parties)
	a.shared = slices.DeleteFunc(a.shared, func(x *Grant) bool { return x == g })
	if len(parties) > 1 {
		a.shared = append(a.shared, g)
	}
	a.hand(g, a.least(g))
	a.serve()
}

// Progress notes that so much was done with what the grant has. It counts as growth where a Config says what is slow.
func (g *Grant) Progress(n int64) {
	a := g.account
	a.mu.Lock()
	defer a.mu.Unlock()
	a.worked(a.Now(), g, n)
}

// settle hands each grant of several parties to the one that has least, and reports whether any changed hands.
func (b *book) settle() (changed bool) {
	for _, g := range b.shared {
		changed = b.hand(g, b.least(g)) || changed
	}
	return changed
}

// least returns the party of those that share a grant that has least beside it; the first one of several.
func (b *book) least(g *Grant) Party {
	return slices.MinFunc(g.among, func(p, q Party) int { return cmp.Compare(b.beside(g, p), b.beside(g, q)) })
}

// beside returns what a party has beside a grant; less than 0 for the service.
func (b *book) beside(g *Grant, p Party) int64 {
	switch p.top() {
	case name{}:
		return -1
	case g.of.top():
		return b.has(p.top()) - g.size
	}
	return b.has(p.top())
}

// hand makes a grant one of another party, and reports whether it was not.
func (b *book) hand(g *Grant, p Party) bool {
	if p == g.of {
		return false
	}
	b.unlist(g)
	b.leave(g)
	g.of = p
	b.join(g)
	if g.revoke != nil && !g.ousted && p != (Party{}) {
		b.list(g)
	}
	for _, w := range b.waiting {
		if w.of == g {
			w.top = p.top()
		}
	}
	return true
}

// join counts a grant for the names of its party.
func (b *book) join(g *Grant) {
	for _, s := range g.of.names() {
		if b.holdings[s] == nil {
			b.holdings[s] = &holding{}
		}
		b.holdings[s].grants++
	}
	b.count(g.of, g.size)
}

// leave counts a grant out of the names of its party.
func (b *book) leave(g *Grant) {
	b.count(g.of, -g.size)
	for _, s := range g.of.names() {
		if b.holdings[s].grants--; b.holdings[s].grants == 0 {
			delete(b.holdings, s)
		}
	}
}
