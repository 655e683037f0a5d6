package fair

import (
	"container/list"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
)

// book is who has how much of an account, and who waits. It decides, and knows no clock and no lock.
type book struct {
	Config
	used     int64
	leaving  int64 // the part of used that revoked grants have not given back yet
	little   int64 // the part of used of parties that have no more than Little
	holdings map[name]*holding
	yielding map[name]*list.List // the grants (*Grant) that may be revoked, by the top name of their party, in the order in which they may
	shared   []*Grant            // the grants of several parties, in the order in which they became that
	waiting  []*waiter           // in the order in which they came
	turned   [2]turnedAway       // the last refusals for want of room, of two parties
	use      bucket.Usage[name]  // who had the account lately, for how long
}

// name is one of the names of a party.
type name struct {
	kind kind
	of   string
}

type kind uint8

const (
	service kind = iota // the zero Party's only name
	address
	network
	owner
	alone // an owner for whom work is done that nobody's address asked for
)

// holding is what a party has under one of its names.
type holding struct {
	size   int64
	grants int // those that are not given back
}

func newBook(c Config) *book {
	return &book{Config: c.withDefaults(), holdings: map[name]*holding{}, yielding: map[name]*list.List{}}
}

// names returns the names of a party.
func (p Party) names() (out []name) {
	if top := p.top(); top.kind != network && top.kind != address {
		out = append(out, top)
	}
	for _, n := range [...]name{{network, p.Network}, {address, p.Address}, {owner, p.Owner}} {
		if n.of != "" {
			out = append(out, n)
		}
	}
	return out
}

// top returns the name under which what a party has is compared with what others have.
func (p Party) top() name {
	switch {
	case p.Network != "":
		return name{network, p.Network}
	case p.Address != "":
		return name{address, p.Address}
	case p.Owner != "":
		return name{alone, p.Owner}
	}
	return name{}
}

func (b *book) has(n name) int64 {
	if h := b.holdings[n]; h != nil {
		return h.size
	}
	return 0
}

// hold counts n more for a grant, or less where n is negative.
func (b *book) hold(g *Grant, n int64) {
	b.used += n
	g.size += n
	b.count(g.of, n)
}

// count counts n more for the names of a party.
func (b *book) count(p Party, n int64) {
	b.little -= b.asLittle(p.top())
	for _, s := range p.names() {
		b.holdings[s].size += n
	}
	b.little += b.asLittle(p.top())
}

// asLittle returns what a party has where that is no more than Little; else 0.
func (b *book) asLittle(who name) int64 {
	if n := b.has(who); who.kind != service && n <= b.Little {
		return n
	}
	return 0
}

// enter begins a grant of nothing.
func (b *book) enter(now time.Time, g *Grant) {
	g.began, g.at = now, now
	b.join(g)
}

// end takes a grant out. Those who wait for it to grow wait no more.
func (b *book) end(g *Grant) {
	if g.ousted {
		b.leaving -= g.size
	}
	b.hold(g, -g.size)
	b.unlist(g)
	b.leave(g)
	b.shared = slices.DeleteFunc(b.shared, func(x *Grant) bool { return x == g })
	g.ended = true
	b.waiting = slices.DeleteFunc(b.waiting, func(w *waiter) bool {
		if w.of == g {
			close(w.sent)
		}
		return w.of == g
	})
}
