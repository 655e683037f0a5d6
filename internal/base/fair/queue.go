package fair

import (
	"cmp"
	"slices"
	"time"
)

// next returns who waits and gets what they wait for; nil where nobody does.
func (b *book) next(now time.Time) (best *waiter) {
	first := b.first(now)
	kept := b.kept(first)
	for _, w := range b.waiting {
		fits := w == first && kept == nil || b.refusalBefore(now, kept, w.of.of, w.n) == Granted
		if fits && (best == nil || b.ahead(now, w, best)) {
			best = w
		}
	}
	return best
}

// first returns who goes first of those who have waited for so long that room is kept for them; nil where nobody has. No room is kept for who is
// slow, who may not have it whatever others give back, and who wants more than there is.
func (b *book) first(now time.Time) (best *waiter) {
	for _, w := range b.waiting {
		if now.Sub(w.since) >= passedFor && (best == nil || b.ahead(now, w, best)) && b.mayBeFirst(now, w) {
			best = w
		}
	}
	return best
}

func (b *book) mayBeFirst(now time.Time, w *waiter) bool {
	p := w.of.of
	return b.bound(p, w.n) == Granted && !b.overHalf(now, p, w.n) && !b.slow(now, w.of) && w.n <= b.free(p, w.n)+b.used-w.of.size
}

// kept returns the first where there is not yet room for it.
func (b *book) kept(first *waiter) *waiter {
	if first == nil || b.fits(first) {
		return nil
	}
	return first
}

// fits reports whether there is room for the first. What the little have of the eighth is not kept for them once more: else a stream of them
// would keep the first away.
func (b *book) fits(first *waiter) bool {
	p := first.of.of
	free := b.free(p, first.n)
	if !b.littleWith(p, first.n) && p != (Party{}) {
		free += min(b.total()/8, b.little-b.asLittle(first.top))
	}
	return first.n <= free
}

// spares reports whether n more for a party are none of the room that is kept: who has little may take more, as long as there is room beside all
// the little once the others have given back what they have.
func (b *book) spares(kept *waiter, p Party, n int64) bool {
	return kept == nil || p == (Party{}) || b.littleWith(p, n) && b.little+n+kept.n <= b.total()
}

// ahead reports whether x goes before y, which came earlier.
func (b *book) ahead(now time.Time, x, y *waiter) bool {
	return !b.aged(now, y) && b.order(now, x, y) < 0
}

// aged reports whether w has waited for so long that it goes by that alone.
func (b *book) aged(now time.Time, w *waiter) bool {
	return b.has(w.top) == 0 && now.Sub(w.since) >= agedAfter
}

// order returns less than 0 where x goes before y, which came earlier.
func (b *book) order(now time.Time, x, y *waiter) int {
	own := func(w *waiter) name { return name{owner, w.of.of.Owner} }
	return cmp.Or(
		cmp.Compare(b.has(x.top), b.has(y.top)), b.use.Seconds(now, x.top)-b.use.Seconds(now, y.top),
		cmp.Compare(b.has(own(x)), b.has(own(y))), b.use.Seconds(now, own(x))-b.use.Seconds(now, own(y)),
	)
}

// queue has w wait, and returns who makes room for that, if somebody has to. It returns false where there is no place for w.
func (b *book) queue(now time.Time, w *waiter) (instead *waiter, ok bool) {
	if w.top.kind != service {
		if b.waits(w.top) >= b.PlacesOne {
			return nil, false
		}
		if len(b.waiting) >= b.Places {
			if instead = b.crowded(now, w); instead == nil {
				return nil, false
			}
			b.forget(instead)
			b.turnAway(now, instead.of, instead.n)
		}
	}
	b.waiting = append(b.waiting, w)
	return instead, true
}

// waits returns how many of a party wait.
func (b *book) waits(who name) (n int) {
	for _, w := range b.waiting {
		if w.top == who {
			n++
		}
	}
	return n
}

// crowded returns the last who waits of the party that has most waiting; nil where that has not more waiting than the party of w would have,
// nor as many and used the account for longer lately. A party keeps one place.
func (b *book) crowded(now time.Time, w *waiter) (worst *waiter) {
	more := func(x, y *waiter, more int) int {
		return cmp.Or(b.waits(x.top)-b.waits(y.top)-more, b.use.Seconds(now, x.top)-b.use.Seconds(now, y.top))
	}
	for _, x := range b.waiting {
		if x.top.kind != service && b.waits(x.top) > 1 && (worst == nil || x.top == worst.top || more(x, worst, 0) > 0) {
			worst = x
		}
	}
	if worst == nil || more(worst, w, 1) <= 0 {
		return nil
	}
	return worst
}

// forget takes w out of those that wait, and reports whether it waited.
func (b *book) forget(w *waiter) bool {
	i := slices.Index(b.waiting, w)
	if i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	return i >= 0
}

// note remembers for how long a party had the account.
func (b *book) note(now time.Time, p Party, d time.Duration) {
	for _, s := range p.names() {
		if s.kind != service {
			b.use.Add(now, s, d*time.Duration(time.Second/b.Brief))
		}
	}
}
