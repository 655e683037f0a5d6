package publicnet

import (
	"errors"
	"net/netip"
	"slices"
)

// ErrForbidden says that a URL of a stranger must not lead to a host, because it is or resolves only to forbidden addresses, or that it must
// not lead to a port. Errors of Target and Connect wrap ErrForbidden.
var ErrForbidden = errors.New("not dialed for an announcement")

// special4 is the part of IPv4 to which no stranger's URL may lead: the IANA special-purpose registry, and multicast.
var special4 = prefixes(
	"0.0.0.0/8",        // this network, unspecified
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared by carriers (CGNAT), metadata services
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // a cloud's metadata service that stands in public space
	"169.254.0.0/16",   // link-local, metadata services
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments, metadata services
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
)

// global6 is the part of IPv6 that can be public at all. Loopback, link-local, unique local and multicast addresses are outside, and so are
// addresses that embed an IPv4 address (4in6, NAT64).
var global6 = netip.MustParsePrefix("2000::/3")

// special6 is the part of global6 that is not public.
var special6 = prefixes(
	"2001::/23",     // protocol assignments: Teredo, benchmarks, ORCHID
	"2001:db8::/32", // documentation
	"2002::/16",     // 6to4
	"3fff::/20",     // documentation
)

// Public reports whether graspd may dial an address that a stranger names. It refuses IPv4 addresses in IPv6 form, whatever they stand for:
// nobody needs to write one. It refuses addresses with a zone too, as no prefix contains them.
func Public(a netip.Addr) bool {
	if !a.IsValid() {
		return false
	}
	special := special4
	if a.Is6() {
		if !global6.Contains(a) {
			return false
		}
		special = special6
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}
