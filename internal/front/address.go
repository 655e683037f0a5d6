package front

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientAddr gives the address that a request comes from; behind trusted proxies, the address that these tell. It is invalid where the
// transport has no addresses, such as a Unix socket.
func (f *Front) clientAddr(req *http.Request) netip.Addr {
	addr := parseAddr(req.RemoteAddr)
	if !f.trusted(addr) {
		return addr
	}
	hops := strings.Split(strings.Join(req.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		next := parseAddr(strings.TrimSpace(hop))
		if !next.IsValid() {
			break
		}
		addr = next
		if !f.trusted(addr) {
			break
		}
	}
	return addr
}

func (f *Front) trusted(addr netip.Addr) bool {
	return slices.ContainsFunc(f.proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// parseAddr reads an address with or without a port.
func parseAddr(s string) netip.Addr {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	addr, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}

// Network gives the first address of the largest network that an address belongs to: for IPv6 the /48, which one customer may have; for
// IPv4 the address itself.
func Network(addr netip.Addr) netip.Addr { return firstOf(addr, 48) }

// Address gives the address whose allowance a client uses up: for IPv6 the first of its /64, as one customer has at least that.
func Address(addr netip.Addr) netip.Addr { return firstOf(addr, 64) }

func firstOf(addr netip.Addr, bits int) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	p, _ := addr.Prefix(bits)
	return p.Addr()
}
