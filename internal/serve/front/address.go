package front

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientAddr returns the address from which a request comes; behind trusted proxies, the address that the proxies name. The address is
// invalid where the transport has no addresses, such as a Unix socket.
func (f *Front) clientAddr(req *http.Request) netip.Addr {
	addr := parseAddr(req.RemoteAddr)
	if !f.trusted(addr) {
		f.warnOfProxy(addr, req)
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

// Network returns the first address of the largest network that one customer may have: for IPv6 of the address's /48; for IPv4 the address
// itself.
func Network(addr netip.Addr) netip.Addr { return firstOf(addr, 48) }

// Address returns the address whose allowance a client uses up: for IPv6 the first of the client's /64, as every customer has at least
// a /64.
func Address(addr netip.Addr) netip.Addr { return firstOf(addr, 64) }

func firstOf(addr netip.Addr, bits int) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	p, _ := addr.Prefix(bits)
	return p.Addr()
}

// warnOfProxy warns once where a web server on this machine seems to stand in front, and nobody is trusted: all its clients are one address
// then, and share what one may do.
func (f *Front) warnOfProxy(addr netip.Addr, req *http.Request) {
	if len(f.proxies) > 0 || !addr.IsLoopback() || req.Header.Get("X-Forwarded-For") == "" {
		return
	}
	f.untrusted.Do(func() {
		f.logger.Warn("a web server on this machine names clients in X-Forwarded-For, and graspd believes nobody: all of them count as one address",
			"client", addr, "mend", "set --trusted-proxies (GRASPD_TRUSTED_PROXIES) to the addresses of that web server, such as "+addr.String())
	})
}
