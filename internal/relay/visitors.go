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
	wholeNetwork = 4       // an IPv6 /48 has the rates of so many addresses
)

var (
	errTooManyNew  = errors.New("rate-limited: too many new connections from your address")
	errTooManyOpen = errors.New("rate-limited: too many open connections from your address")
	errFull        = errors.New("rate-limited: this relay has as many connections as it bears")
)

// visitors keep what each address has used up of its rates, for as long as it takes to refill, and what it holds. An IPv6
// address shares with the other ones of its /48 what these may have together, as one customer has many. Loopback, and a
// transport without addresses, count as the operator's own, unless everything comes through a proxy there.
type visitors struct {
	rates   Rates
	now     func() time.Time
	proxied bool

	mu       sync.Mutex
	byAddr   map[netip.Addr]*visitor
	networks map[netip.Addr]*share // of IPv6, by the first address of the /48
	rest     *visitor              // all addresses for which there is no place in byAddr
	swept    time.Time             // when those that are refilled were last dropped
	pools    [poolKinds]pool
	holders  [poolKinds]map[*share]struct{} // addresses of IPv4 and networks of IPv6 that have something of a pool
}

// visitor is one address; nil is one without limits.
type visitor struct {
	own     *share
	network *share        // what own is part of; nil for IPv4
	turn    chan struct{} // capacity 1: held by the one client that has work for which others wait
}

// top is the largest group that the address belongs to.
func (one *visitor) top() *share {
	if one.network != nil {
		return one.network
	}
	return one.own
}

func newVisitor(network *share) *visitor {
	return &visitor{own: newShare(), network: network, turn: make(chan struct{}, 1)}
}

func newVisitors(l Limits, now func() time.Time, proxied bool) *visitors {
	v := &visitors{
		rates: l.Rates, now: now, proxied: proxied, byAddr: map[netip.Addr]*visitor{}, networks: map[netip.Addr]*share{},
		rest: newVisitor(nil), pools: newPools(l),
	}
	for kind := range v.holders {
		v.holders[kind] = map[*share]struct{}{}
	}
	return v
}

// arrive counts a new connection, which departs later, or says why it may not be.
func (v *visitors) arrive(addr netip.Addr) (*visitor, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var one *visitor
	if !v.exempt(addr) {
		one = v.find(addr)
	}
	switch v.refusal(one, connectionPool, 1) {
	case overAddress:
		return nil, errTooManyOpen
	case overAll:
		return nil, errFull
	}
	if v.wait(one, connecting) > 0 {
		return nil, errTooManyNew
	}
	v.spend(one, connecting, 1)
	v.hold(one, connectionPool, 1)
	return one, nil
}

func (v *visitors) depart(one *visitor) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hold(one, connectionPool, -1)
}

// connect counts a connection of any kind, unless its address has too many.
func (v *visitors) connect(addr netip.Addr) (*visitor, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.exempt(addr) {
		return nil, true
	}
	one, most := v.find(addr), v.rates.Open+spareRaw
	if one.own.raw >= most || one.network != nil && one.network.raw >= wholeNetwork*most {
		return nil, false
	}
	one.countRaw(1)
	return one, true
}

func (v *visitors) disconnect(one *visitor) {
	if one == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	one.countRaw(-1)
}

func (one *visitor) countRaw(n int) {
	one.own.raw += n
	if one.network != nil {
		one.network.raw += n
	}
}

// exempt is the operator's own.
func (v *visitors) exempt(addr netip.Addr) bool {
	return (addr.IsLoopback() || !addr.IsValid()) && !v.proxied
}

// find is called with mu held.
func (v *visitors) find(addr netip.Addr) *visitor {
	addr = whose(addr)
	if one := v.byAddr[addr]; one != nil {
		return one
	}
	if len(v.byAddr) >= maxVisitors {
		v.sweep()
	}
	if len(v.byAddr) >= maxVisitors {
		return v.rest
	}
	one := newVisitor(v.networkOf(addr))
	v.byAddr[addr] = one
	return one
}

// networkOf is called with mu held, for an address that is about to be kept.
func (v *visitors) networkOf(addr netip.Addr) *share {
	if !addr.Is6() {
		return nil
	}
	n := v.networks[groupOf(addr)]
	if n == nil {
		n = newShare()
		v.networks[groupOf(addr)] = n
	}
	n.members++
	return n
}

// sweep drops those that are as if they had never come, at most once a second.
func (v *visitors) sweep() {
	now := v.now()
	if now.Sub(v.swept) < time.Second {
		return
	}
	v.swept = now
	for addr, one := range v.byAddr {
		if one.own.untouched(now, v.rates, 1) {
			if one.network != nil {
				one.network.members--
			}
			delete(v.byAddr, addr)
		}
	}
	for addr, n := range v.networks {
		if n.members == 0 && n.untouched(now, v.rates, wholeNetwork) {
			delete(v.networks, addr)
		}
	}
}
