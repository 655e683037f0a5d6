package front

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
)

const (
	maxVisitors   = 100_000 // addresses that are told apart; all others share one allowance
	networkFactor = 4       // an IPv6 /48 has the rates of so many addresses together
)

// Why a connection is refused.
var (
	ErrTooManyNew   = errors.New("rate-limited: too many new connections from your address")
	ErrTooManyOpen  = errors.New("rate-limited: too many open connections from your address")
	ErrTooManyInAll = errors.New("rate-limited: this relay has as many connections as it bears")
)

// visitors remembers what each address has used up of its rates, for as long as that takes to refill. The IPv6 addresses
// of a /48 have bounds together, as one customer has many of them. Loopback, and a transport without addresses, count as the operator's own;
// but not if there are proxies, as clients may come through them.
type visitors struct {
	rates   Rates // with the defaults filled in
	now     func() time.Time
	proxied bool

	mu       sync.Mutex
	byAddr   map[netip.Addr]*Visitor
	networks map[netip.Addr]*usage // of IPv6, by the first address of the /48
	rest     *Visitor              // stands for all addresses for which byAddr has no room
	swept    time.Time             // when sweep last looked
	accounts []*fair.Account
	open     *fair.Account // connections that somebody has taken over
	any      *fair.Account // connections of any kind
}

func newVisitors(rates Rates, now func() time.Time, proxied bool) *visitors {
	v := &visitors{rates: rates, now: now, proxied: proxied, byAddr: map[netip.Addr]*Visitor{}, networks: map[netip.Addr]*usage{}}
	v.rest = newVisitor(v, fair.Party{Address: "others"}, nil)
	v.open = v.newAccount(fair.Config{Name: "connections", Total: int64(rates.OpenTotal), Address: int64(rates.Open), Little: 8})
	v.any = v.newAccount(fair.Config{Name: "connections of any kind", Total: int64(rates.AnyTotal), Little: 8})
	return v
}

// visit returns the visitor of an address, nil for one without limits. The visitor stays until leave.
func (v *visitors) visit(addr netip.Addr) *Visitor {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.exempt(addr) {
		return nil
	}
	one := v.find(addr)
	one.own.visits++
	return one
}

// leave ends a visit.
func (v *visitors) leave(one *Visitor) {
	if one == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	one.own.visits--
}

// NewAccount adds an account that the clients of all addresses share; see Visitor.Party. Call it before the first request.
func (f *Front) NewAccount(c fair.Config) *fair.Account { return f.visitors.newAccount(c) }

func (v *visitors) newAccount(c fair.Config) *fair.Account {
	c.Now = v.now
	a := fair.New(c)
	v.accounts = append(v.accounts, a)
	return a
}

// Arrive counts a connection that a route takes over from HTTP, or refuses it with ErrTooManyNew, ErrTooManyOpen or ErrTooManyInAll. The caller
// gives the grant back when the connection ends.
func (f *Front) Arrive(one *Visitor) (*fair.Grant, error) { return f.visitors.arrive(one) }

func (v *visitors) arrive(one *Visitor) (*fair.Grant, error) {
	g, why := v.open.Take(one.Party(), 1)
	switch {
	case why == fair.OverAll:
		return nil, ErrTooManyInAll
	case why != fair.Granted:
		return nil, ErrTooManyOpen
	case one.take(connecting) > 0:
		g.GiveBack()
		return nil, ErrTooManyNew
	}
	return g, nil
}

// connect counts a connection of any kind, unless the address has too many, or there are too many and no address has more. It returns a grant,
// which may be revoked, what the caller calls when the connection has ended, and whether it counted the connection. The grant of the operator's
// own connections is nil.
func (v *visitors) connect(addr netip.Addr) (g *fair.Grant, left func(), ok bool) {
	one, ok := v.connectOf(addr)
	if !ok || one == nil {
		return nil, func() {}, ok
	}
	g, why := v.any.Take(one.Party(), 1)
	if why != fair.Granted {
		v.disconnect(one)
		return nil, nil, false
	}
	return g, sync.OnceFunc(func() { g.GiveBack(); v.disconnect(one) }), true
}

func (v *visitors) connectOf(addr netip.Addr) (*Visitor, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.exempt(addr) {
		return nil, true
	}
	one, most := v.find(addr), v.rates.Open+spareRaw
	if one.own.raw >= most || one.network != nil && one.network.raw >= networkFactor*most {
		return nil, false
	}
	one.countRaw(1)
	return one, true
}

func (v *visitors) disconnect(one *Visitor) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one.countRaw(-1)
}

// exempt reports whether an address is the operator's own, which has no limits.
func (v *visitors) exempt(addr netip.Addr) bool {
	return (addr.IsLoopback() || !addr.IsValid()) && !v.proxied
}

// find returns the visitor of an address. It makes one, or returns rest where there are maxVisitors. The caller holds mu.
func (v *visitors) find(addr netip.Addr) *Visitor {
	addr = Address(addr)
	if one := v.byAddr[addr]; one != nil {
		return one
	}
	if len(v.byAddr) >= maxVisitors {
		v.sweep()
	}
	if len(v.byAddr) >= maxVisitors {
		return v.rest
	}
	party := fair.Party{Address: addr.String()}
	if addr.Is6() {
		party.Network = Network(addr).String()
	}
	one := newVisitor(v, party, v.networkOf(addr))
	v.byAddr[addr] = one
	return one
}

// networkOf returns the usage of an address's network, with one more member; nil for IPv4. The caller holds mu, and keeps the address.
func (v *visitors) networkOf(addr netip.Addr) *usage {
	if !addr.Is6() {
		return nil
	}
	n := v.networks[Network(addr)]
	if n == nil {
		n = newUsage()
		v.networks[Network(addr)] = n
	}
	n.members++
	return n
}

// sweep drops addresses and networks that are like new ones. It looks at most once a second. The caller holds mu.
func (v *visitors) sweep() {
	now := v.now()
	if now.Sub(v.swept) < time.Second {
		return
	}
	v.swept = now
	for addr, one := range v.byAddr {
		if one.own.untouched(now) {
			if one.network != nil {
				one.network.members--
			}
			delete(v.byAddr, addr)
		}
	}
	for addr, n := range v.networks {
		if n.members == 0 && n.untouched(now) {
			delete(v.networks, addr)
		}
	}
}
