package fair

import (
	"container/list"
	"time"
)

// list puts a grant last among those that may be revoked.
func (b *book) list(g *Grant) {
	top := g.of.top()
	if b.yielding[top] == nil {
		b.yielding[top] = list.New()
	}
	if b.Newest {
		g.element = b.yielding[top].PushFront(g)
	} else {
		g.element = b.yielding[top].PushBack(g)
	}
}

// unlist takes a grant out of those that may be revoked, and reports whether it was among them.
func (b *book) unlist(g *Grant) bool {
	if g.element == nil {
		return false
	}
	top := g.of.top()
	if b.yielding[top].Remove(g.element); b.yielding[top].Len() == 0 {
		delete(b.yielding, top)
	}
	g.element = nil
	return true
}

// victim returns the grant to revoke so that g may have n more; nil where there is none, where enough is being given back already, and where all
// that may be revoked would not be enough: nobody's work ends in vain. Where there is Room, what is given back makes more of it, so nobody can tell.
func (b *book) victim(now time.Time, g *Grant, n int64) *Grant {
	if n <= b.free(g.of, n)+b.leaving || b.overHalf(now, g.of, n) || b.slow(now, g) {
		return nil
	}
	slow := func(x *Grant) bool { return x != g && b.slow(now, x) }
	less := func(x *Grant) bool {
		return x != g && (b.has(x.of.top()) > b.has(g.of.top())+n || b.overstays(now, x, g))
	}
	if b.Room == nil && n > b.free(g.of, n)+b.leaving+b.yields(func(x *Grant) bool { return slow(x) || less(x) }) {
		return nil
	}
	if x := b.largest(slow); x != nil {
		return x
	}
	return b.largest(less)
}

// yields returns how much would be given back if all grants that are ok were revoked.
func (b *book) yields(ok func(*Grant) bool) (all int64) {
	for _, grants := range b.yielding {
		for e := grants.Front(); e != nil; e = e.Next() {
			if g := e.Value.(*Grant); ok(g) {
				all += g.size
			}
		}
	}
	return all
}

// overstays reports whether x has had its usual time, and its party the account for longer lately than that of g.
func (b *book) overstays(now time.Time, x, g *Grant) bool {
	lasts := now.Sub(x.listed)
	return x.usual > 0 && lasts >= x.usual && x.of.top() != g.of.top() &&
		b.use.Seconds(now, x.of.top())+int(lasts.Seconds()) > b.use.Seconds(now, g.of.top())
}

// largest returns the first grant that may be revoked, of the party that has most of those with a grant that is ok.
func (b *book) largest(ok func(*Grant) bool) (best *Grant) {
	var most int64
	for who, grants := range b.yielding {
		if has := b.has(who); has > most {
			for e := grants.Front(); e != nil; e = e.Next() {
				if g := e.Value.(*Grant); g.size > 0 && ok(g) {
					best, most = g, has
					break
				}
			}
		}
	}
	return best
}

// slow reports whether a grant grows too slowly.
func (b *book) slow(now time.Time, g *Grant) bool {
	return b.Slow > 0 && now.Sub(g.began) >= slowAfter && g.perSecond(now) < float64(b.Slow)
}
