package fair

import (
	"container/list"
	"math"
	"time"
)

// Grant is what somebody has of an account until GiveBack. GiveBack of a nil Grant does nothing.
type Grant struct {
	account *Account

	// The lock of the account guards the fields below.
	of      Party
	among   []Party // the parties that share it; nil is the one party of
	size    int64
	began   time.Time
	lately  float64   // what it got, of which half counts after each half
	at      time.Time // as of when
	ended   bool
	ousted  bool
	revoke  func()        // ends the holder's use, to make room for others
	listed  time.Time     // when it was made revocable
	usual   time.Duration // for how long from then on it is left alone for one who would have as much; 0 is for ever
	element *list.Element // among those that may be revoked; nil for others
}

// Grow adds n to the grant, or says why not. Where too little is left, it revokes other grants, like Account.Take.
func (g *Grant) Grow(n int64) Refusal {
	for {
		why, instead := g.TryGrow(n)
		if instead == nil {
			return why
		}
		instead.Oust()
	}
}

// TryGrow adds n to the grant and revokes nothing. It says why not, and which grant could be revoked to make room. A grant that was given
// back does not grow, and hears OverAll.
func (g *Grant) TryGrow(n int64) (why Refusal, instead *Grant) {
	a := g.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if g.ended {
		return OverAll, nil
	}
	now := a.Now()
	if why = a.refusal(now, g.of, n); why == OverAll && a.settle() {
		why = a.refusal(now, g.of, n)
	}
	if why == Granted {
		a.enlarge(now, g, n)
		return Granted, nil
	}
	if why == OverAll {
		a.turnAway(now, g, n)
		instead = a.victim(now, g, n)
	}
	return why, instead
}

// Shrink gives back all of the grant but n.
func (g *Grant) Shrink(n int64) {
	a := g.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if g.ended || n >= g.size {
		return
	}
	if g.ousted {
		a.leaving -= g.size - n
	}
	a.hold(g, n-g.size)
	a.serve()
}

// Revocable lets others revoke the grant from then on: they call revoke, once, which must not wait, and leads to GiveBack. With nil nobody may
// revoke it any more. Nobody revokes the grants of the zero Party.
func (g *Grant) Revocable(revoke func()) { g.RevocableFor(0, revoke) }

// RevocableFor is Revocable for work that has a usual time. When that has passed, the grant gives way to a party that would have as much or
// more, too, if that used the account for less time lately; see Account.Charge. The time since the call counts as used. Where the grant was revoked
// before, and not given back yet, RevocableFor calls revoke.
func (g *Grant) RevocableFor(usual time.Duration, revoke func()) {
	if g.relist(usual, revoke) && revoke != nil {
		revoke()
	}
}

// relist sets how the grant is revoked, and reports whether it is already.
func (g *Grant) relist(usual time.Duration, revoke func()) (ousted bool) {
	a := g.account
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unlist(g)
	g.listed, g.usual = a.Now(), usual
	if g.revoke = revoke; revoke != nil && !g.ended && !g.ousted && g.of != (Party{}) {
		a.list(g)
	}
	return g.ousted && !g.ended
}

// Oust revokes the grant, unless it was revoked or given back before.
func (g *Grant) Oust() {
	if revoke := g.takeOff(); revoke != nil {
		revoke()
	}
}

// takeOff takes the grant off those that may be revoked, and returns how to revoke it; nil where it is none of them.
func (g *Grant) takeOff() func() {
	a := g.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.unlist(g) {
		return nil
	}
	g.ousted = true
	a.leaving += g.size
	return g.revoke
}

// Size returns how much the grant is.
func (g *Grant) Size() int64 {
	g.account.mu.Lock()
	defer g.account.mu.Unlock()
	return g.size
}

// GiveBack ends the grant. Callers may call it more than once.
func (g *Grant) GiveBack() {
	if g == nil {
		return
	}
	a := g.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if !g.ended {
		a.end(g)
		a.serve()
	}
}

// enlarge adds n to a grant.
func (b *book) enlarge(now time.Time, g *Grant, n int64) {
	b.hold(g, n)
	if g.ousted {
		b.leaving += n
	}
	b.worked(now, g, n)
}

// worked counts n for the pace of a grant. What came at once counts for some seconds, however much it was.
func (b *book) worked(now time.Time, g *Grant, n int64) {
	g.lately, g.at = min(g.fresh(now)+float64(n), burst*float64(b.Slow)), now
}

// fresh returns how much of what the grant got still counts.
func (g *Grant) fresh(now time.Time) float64 {
	return g.lately * math.Exp2(-now.Sub(g.at).Seconds()/half.Seconds())
}

// perSecond returns by how much the grant grows a second.
func (g *Grant) perSecond(now time.Time) float64 { return g.fresh(now) * math.Ln2 / half.Seconds() }
