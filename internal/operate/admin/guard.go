package admin

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard refuses requests that only a misled browser makes: of a page of somebody else whose name was made to lead to this address (DNS
// rebinding), and of anything that such a page embeds. Programs ask by address, or by a name of the local network.
func guard(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !ours(r.Host, hosts):
			answer(w, http.StatusMisdirectedRequest, "this listener is private: ask for it by its address, or name the host in --admin-hosts")
		case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			answer(w, http.StatusForbidden, "not for pages of other sites")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ours reports whether a Host header names an address, a local name or one of hosts.
func ours(host string, hosts []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	return !strings.Contains(name, ".") || slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, name) })
}
