package fair

import (
	"context"
	"slices"
	"time"
)

// waiter is who waits until a grant has grown.
type waiter struct {
	of      *Grant
	top     name
	n       int64
	since   time.Time
	granted chan struct{} // closed once the grant has grown
	sent    chan struct{} // closed when somebody with a better claim takes the place
}

// Wait takes n for a party, as soon as there is room for it and it is their turn. It fails with a Refusal (NoPlace, TooLong), or with the cause
// of ctx.
func (a *Account) Wait(ctx context.Context, p Party, n int64) (*Grant, error) {
	g := a.Open(p)
	if err := g.Wait(ctx, n); err != nil {
		g.GiveBack()
		return nil, err
	}
	return g, nil
}

// Wait adds n to the grant, like Account.Wait. Where Wait fails, the grant is as it was.
func (g *Grant) Wait(ctx context.Context, n int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w := g.ask(n)
	if w == nil {
		return NoPlace
	}
	err := g.await(ctx, w)
	if err != nil && !g.withdraw(w) { // it came meanwhile
		return nil
	}
	return err
}

// ask has the grant grow, or wait for that; nil is that there is no place to wait.
func (g *Grant) ask(n int64) *waiter {
	a := g.account
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.Now()
	w := &waiter{of: g, top: g.of.top(), n: n, since: now, granted: make(chan struct{}), sent: make(chan struct{})}
	if g.ended {
		return nil
	}
	if a.refusal(now, g.of, n) == Granted {
		a.enlarge(now, g, n)
		close(w.granted)
		return w
	}
	instead, ok := a.queue(now, w)
	if !ok {
		a.turnAway(now, g, n)
		return nil
	}
	if instead != nil {
		close(instead.sent)
	}
	return w
}

// await waits until w is granted. It fails when that takes too long, when somebody else gets the place of w, or when ctx ends.
func (g *Grant) await(ctx context.Context, w *waiter) error {
	select {
	case <-w.granted:
		return nil
	default:
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for n := time.Duration(1); ; n++ {
		select {
		case <-w.granted:
			return nil
		case <-w.sent:
			return NoPlace
		case <-tick.C:
			g.account.press(w, n*lookAgain)
			if most := g.account.Most; most > 0 && n*lookAgain >= most {
				return TooLong
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// press looks after a wait of so long whether there is room for w, and revokes what gives way to w, until enough is being given back.
func (a *Account) press(w *waiter, waited time.Duration) {
	for {
		x := a.inTheWay(w, waited)
		if x == nil {
			return
		}
		x.Oust()
	}
}

// inTheWay returns the grant to revoke for w; nil where none is to be revoked.
func (a *Account) inTheWay(w *waiter, waited time.Duration) *Grant {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.serve() // Room may have grown by itself, and what is slow or contested changes with time
	if !slices.Contains(a.waiting, w) || a.Patience == 0 || waited < a.Patience || a.bound(w.of.of, w.n) != Granted {
		return nil
	}
	a.settle()
	now := a.Now()
	if first := a.first(now); w != first && !a.spares(first, w.of.of, w.n) {
		return nil // what others give back goes to somebody else
	}
	return a.victim(now, w.of, w.n)
}

// withdraw ends a wait, and reports false where w was granted meanwhile.
func (g *Grant) withdraw(w *waiter) bool {
	a := g.account
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-w.granted:
		return false
	default:
	}
	if a.forget(w) {
		a.turnAway(a.Now(), g, w.n)
		a.serve() // others may have had less for fear of w
	}
	return true
}

// serve gives those who wait what there is.
func (b *book) serve() {
	for {
		now := b.Now()
		w := b.next(now)
		if w == nil {
			return
		}
		b.forget(w)
		b.enlarge(now, w.of, w.n)
		close(w.granted)
	}
}
