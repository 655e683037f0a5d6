package front

import (
	"net/http"
	"net/netip"
	"time"
)

// MaxVisitors bounds how many addresses are told apart.
const MaxVisitors = maxVisitors

// Visitors is the table of addresses, with a pool to take from.
type Visitors struct {
	*visitors
	Filters *Pool
}

// NewVisitors makes one.
func NewVisitors(r Rates, now func() time.Time, proxied bool) *Visitors {
	v := newVisitors(r.withDefaults(), now, proxied)
	return &Visitors{v, v.newPool(PoolConfig{Name: "bytes of filters", Total: 512 << 20, Address: 64 << 20, Little: 1 << 20})}
}

// Arrive counts a connection from addr.
func (v *Visitors) Arrive(addr string) (*Visitor, error) {
	one := v.visit(netip.MustParseAddr(addr))
	defer v.leave(one)
	return one, v.arrive(one)
}

// Visit keeps an address until leave.
func (v *Visitors) Visit(addr string) (one *Visitor, leave func()) {
	one = v.visit(netip.MustParseAddr(addr))
	return one, func() { v.leave(one) }
}

// Depart ends one.
func (v *Visitors) Depart(one *Visitor) { v.depart(one) }

// Grant gives a part of the pool to an address; revoked says when it is taken back.
func (v *Visitors) Grant(one *Visitor, n int, revoked func()) (back func(), ok bool) {
	g, why := v.Filters.Take(one, n)
	if why != Granted {
		return nil, false
	}
	g.Shrink(n, func() { g.GiveBack(); revoked() })
	return g.GiveBack, true
}

// SettleLate gives a part of the pool to an address, and settles it when it was given back.
func (v *Visitors) SettleLate(one *Visitor, n int) {
	g, _ := v.Filters.Take(one, n)
	g.GiveBack()
	g.Shrink(n, func() {})
	more, _ := v.Filters.Take(one, n)
	g.Enlarge(more)
	more.GiveBack()
}

// Connect counts a connection of any kind.
func (v *Visitors) Connect(addr string) bool {
	_, ok := v.connect(netip.MustParseAddr(addr))
	return ok
}

// Find gives an address.
func (v *Visitors) Find(addr string) *Visitor { return v.find(netip.MustParseAddr(addr)) }

// Networks is how many networks of IPv6 are told apart.
func (v *Visitors) Networks() int { return len(v.networks) }

// Len is how many addresses are told apart.
func (v *Visitors) Len() int { return len(v.byAddr) }

// AddrBehind is the address that a request is taken to come from, where these proxies are trusted.
func AddrBehind(proxies []netip.Prefix, req *http.Request) netip.Addr {
	return (&Front{proxies: proxies}).clientAddr(req)
}
