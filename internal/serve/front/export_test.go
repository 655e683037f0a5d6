package front

import (
	"log/slog"
	"net/http"
	"net/netip"
	"time"
)

// MaxVisitors bounds how many addresses are told apart.
const MaxVisitors = maxVisitors

// Visitors is the table of addresses.
type Visitors struct{ *visitors }

// NewVisitors makes one.
func NewVisitors(r Rates, now func() time.Time, proxied bool) *Visitors {
	return &Visitors{newVisitors(r.withDefaults(), now, proxied)}
}

// Arrive counts a connection from addr, until depart.
func (v *Visitors) Arrive(addr string) (one *Visitor, depart func(), err error) {
	one = v.visit(netip.MustParseAddr(addr))
	defer v.leave(one)
	g, err := v.arrive(one)
	return one, g.GiveBack, err
}

// Visit keeps an address until leave.
func (v *Visitors) Visit(addr string) (one *Visitor, leave func()) {
	one = v.visit(netip.MustParseAddr(addr))
	return one, func() { v.leave(one) }
}

// Connect counts a connection of any kind.
func (v *Visitors) Connect(addr string) bool {
	_, _, ok := v.connect(netip.MustParseAddr(addr))
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
	return (&Front{proxies: proxies, logger: slog.New(slog.DiscardHandler)}).clientAddr(req)
}
