package fair

import (
	"math"
	"slices"
	"time"
)

// turnedAway is that a party was refused something for want of room.
type turnedAway struct {
	who name
	at  time.Time
}

// total returns how much there is for all, with what is taken already. It may be less than that.
func (b *book) total() int64 {
	if b.Room == nil {
		return b.Total
	}
	return min(b.Total, max(0, b.Room()))
}

// bound says why a party may not have n more, whatever others have; Granted where they may.
func (b *book) bound(p Party, n int64) Refusal {
	most := [...]int64{service: math.MaxInt64, alone: math.MaxInt64, address: b.Address, network: b.Network, owner: b.Owner}
	for _, s := range p.names() {
		switch {
		case b.has(s)+n <= most[s.kind]:
		case s.kind == owner:
			return OverOwner
		default:
			return OverAddress
		}
	}
	return Granted
}

// refusal says why a party may not have n more; Granted where they may.
func (b *book) refusal(now time.Time, p Party, n int64) Refusal {
	return b.refusalBefore(now, b.kept(b.first(now)), p, n)
}

// refusalBefore is refusal where room is kept for a waiter, if it is not nil.
func (b *book) refusalBefore(now time.Time, kept *waiter, p Party, n int64) Refusal {
	if why := b.bound(p, n); why != Granted {
		return why
	}
	if b.overHalf(now, p, n) || n > b.free(p, n) || !b.spares(kept, p, n) {
		return OverAll
	}
	return Granted
}

// overHalf reports whether a party would have more than half with n more, while others want room.
func (b *book) overHalf(now time.Time, p Party, n int64) bool {
	return p != (Party{}) && b.has(p.top())+n > (b.total()+1)/2 && b.contested(now, p.top())
}

// free returns how much is left for a party that asks for n.
func (b *book) free(p Party, n int64) int64 {
	total := b.total()
	free := total - b.used
	if p != (Party{}) && b.Little > 0 && !b.littleWith(p, n) {
		free -= total / 8
	}
	return free
}

// littleWith reports whether a party would have no more than Little with n more.
func (b *book) littleWith(p Party, n int64) bool { return b.has(p.top())+n <= b.Little }

// contested reports whether others than who want room that they did not get.
func (b *book) contested(now time.Time, who name) bool {
	for _, t := range b.turned {
		if !t.at.IsZero() && t.who != who && now.Sub(t.at) < contestedFor {
			return true
		}
	}
	return slices.ContainsFunc(b.waiting, func(w *waiter) bool { return w.top != who && b.bound(w.of.of, w.n) == Granted })
}

// turnAway notes that g did not get room that its party may have.
func (b *book) turnAway(now time.Time, g *Grant, n int64) {
	if b.bound(g.of, n) != Granted || b.slow(now, g) {
		return
	}
	who := g.of.top()
	if b.turned[0].who != who {
		b.turned[1] = b.turned[0]
	}
	b.turned[0] = turnedAway{who, now}
}
