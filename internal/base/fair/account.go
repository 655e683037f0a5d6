package fair

import (
	"fmt"
	"sync"
	"time"
)

// Account is an amount that parties share by the rules of a Config. Any goroutine may call the methods; only those named Wait block.
type Account struct {
	mu sync.Mutex // guards book, and all of its grants and waiters; nothing is called with it held but Config.Room and Config.Now
	*book
}

// New makes an account of which nobody has anything.
func New(c Config) *Account { return &Account{book: newBook(c)} }

// Take takes n for a party. It returns the grant, or nil and why not. Where too little is left, Take revokes grants; see Config. What these
// do not give back at once helps only those who wait.
func (a *Account) Take(p Party, n int64) (*Grant, Refusal) {
	g := a.Open(p)
	if why := g.Grow(n); why != Granted {
		g.GiveBack()
		return nil, why
	}
	return g, Granted
}

// Try takes n for a party and revokes nothing. It returns the grant; or why not, and the grant that could be revoked to make room.
func (a *Account) Try(p Party, n int64) (g *Grant, why Refusal, instead *Grant) {
	g = a.Open(p)
	if why, instead = g.TryGrow(n); why != Granted {
		g.GiveBack()
		g = nil
	}
	return g, why, instead
}

// Open returns a grant of nothing, which may grow.
func (a *Account) Open(p Party) *Grant {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := &Grant{account: a, of: p}
	a.enter(a.Now(), g)
	return g
}

// Charge notes for how long a party had the account, or the processor with it. Those who used it longer lately go last among those who wait.
func (a *Account) Charge(p Party, d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note(a.Now(), p, d)
}

// Left returns how much there is that nobody has.
func (a *Account) Left() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(0, a.total()-a.used)
}

// Waiting returns how many wait.
func (a *Account) Waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting)
}

// Unreturned names what is not as it was before the first grant. Call it when all grants should have been given back.
func (a *Account) Unreturned() (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for what, n := range map[string]int64{
		"in all": a.used, "revoked": a.leaving, "that somebody waits for": int64(len(a.waiting)), "that may be revoked": int64(len(a.yielding)),
		"parties that hold some": int64(len(a.holdings)), "that several parties share": int64(len(a.shared)),
	} {
		if n != 0 {
			out = append(out, fmt.Sprintf("%s, %s: %d", a.Name, what, n))
		}
	}
	return out
}
