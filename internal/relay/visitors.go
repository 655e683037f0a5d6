package relay

import (
	"errors"
	"net/netip"
	"sync"
	"time"
)

const (
	burstSeconds = 10      // a full bucket holds so many seconds' worth
	maxVisitors  = 100_000 // addresses that are told apart; those beyond share one allowance
)

var (
	errTooManyNew  = errors.New("rate-limited: too many new connections from your address")
	errTooManyOpen = errors.New("rate-limited: too many open connections from your address")
	errFull        = errors.New("rate-limited: this relay has as many connections as it bears")
)

// visitors keep what each address has used up of its rates, for as long as it takes to refill. Loopback, and a transport
// without addresses, count as the operator's own, unless everything comes through a proxy there.
type visitors struct {
	rates   Rates
	now     func() time.Time
	proxied bool

	mu     sync.Mutex
	byAddr map[netip.Addr]*visitor
	rest   *visitor  // all addresses for which there is no place in byAddr
	swept  time.Time // when those that are refilled were last dropped
	open   int       // connections
}

// visitor is one address; nil is one without limits.
type visitor struct {
	connections, events, requests bucketLevel
	decisions                     bucketLevel // the work of deciding events, at the rate of requests
	open                          int         // WebSocket connections
	raw                           int         // all connections
	filterBytes                   int
	turn                          chan struct{} // capacity 1: held by the one client that has work for which others wait
}

func newVisitor() *visitor { return &visitor{turn: make(chan struct{}, 1)} }

func newVisitors(rates Rates, now func() time.Time, proxied bool) *visitors {
	return &visitors{rates: rates, now: now, proxied: proxied, byAddr: map[netip.Addr]*visitor{}, rest: newVisitor()}
}

// arrive counts a new connection, which departs later, or says why it may not be.
func (v *visitors) arrive(addr netip.Addr) (*visitor, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open >= v.rates.OpenTotal {
		return nil, errFull
	}
	if v.exempt(addr) {
		v.open++
		return nil, nil
	}
	one := v.find(whose(addr))
	switch {
	case one.open >= v.rates.Open:
		return nil, errTooManyOpen
	case !one.connections.take(v.now(), v.rates.Connections):
		return nil, errTooManyNew
	}
	one.open++
	v.open++
	return one, nil
}

func (v *visitors) depart(one *visitor) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open--
	if one != nil {
		one.open--
	}
}

// mayPublish counts an event, or says that there are too many.
func (v *visitors) mayPublish(one *visitor) bool {
	if one == nil {
		return true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return one.events.take(v.now(), v.rates.Events)
}

// admit counts a request, or says how long it has to wait.
func (v *visitors) admit(one *visitor) time.Duration {
	if one == nil {
		return 0
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	wait := one.requests.wait(now, v.rates.Requests)
	if wait == 0 {
		one.requests.charge(now, 1, v.rates.Requests)
	}
	return wait
}

// charge counts the work that a request has made.
func (v *visitors) charge(one *visitor, steps int) {
	if one == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	one.requests.charge(v.now(), float64(steps)/stepsPerRequest, v.rates.Requests)
}

// chargeDecision counts the work that the decision of an event has made.
func (v *visitors) chargeDecision(one *visitor, steps int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one.decisions.charge(v.now(), float64(steps)/stepsPerRequest, v.rates.Requests)
}

// owed is how long the address has to wait until another of its events may be decided.
func (v *visitors) owed(one *visitor) time.Duration {
	if one == nil {
		return 0
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return one.decisions.wait(v.now(), v.rates.Requests)
}

// debt is how long the address has to wait for what it has used up already.
func (v *visitors) debt(one *visitor) time.Duration {
	if one == nil {
		return 0
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return one.requests.wait(v.now(), v.rates.Requests)
}

// holdFilters counts the memory of filters, or says that the address has as much as it may.
func (v *visitors) holdFilters(one *visitor, bytes int) bool {
	if one == nil {
		return true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if one.filterBytes+bytes > addressFilterBytes {
		return false
	}
	one.filterBytes += bytes
	return true
}

func (v *visitors) dropFilters(one *visitor, bytes int) {
	if one == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	one.filterBytes -= bytes
}

// exempt is the operator's own.
func (v *visitors) exempt(addr netip.Addr) bool {
	return (addr.IsLoopback() || !addr.IsValid()) && !v.proxied
}

// find is called with mu held.
func (v *visitors) find(addr netip.Addr) *visitor {
	if one := v.byAddr[addr]; one != nil {
		return one
	}
	if len(v.byAddr) >= maxVisitors {
		v.sweep()
	}
	if len(v.byAddr) >= maxVisitors {
		return v.rest
	}
	one := newVisitor()
	v.byAddr[addr] = one
	return one
}

// sweep drops those that are as if they had never come, at most once a second.
func (v *visitors) sweep() {
	now := v.now()
	if now.Sub(v.swept) < time.Second {
		return
	}
	v.swept = now
	for addr, one := range v.byAddr {
		if one.open == 0 && one.raw == 0 && one.connections.full(now, v.rates.Connections) &&
			one.events.full(now, v.rates.Events) && one.requests.full(now, v.rates.Requests) &&
			one.decisions.full(now, v.rates.Requests) {
			delete(v.byAddr, addr)
		}
	}
}
