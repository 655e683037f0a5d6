package grasp

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Service is the place under which announcements list this relay: a host, a port where it is not the scheme's own, and a
// base path. A Service is comparable. No announcement lists the zero Service.
type Service struct {
	host, port, path string // as in parsedRelay
}

// ParseService reads "relay.example.org", "127.0.0.1:7334" or "example.org/base", without a scheme.
func ParseService(domain string) (Service, error) {
	if strings.Contains(domain, "://") {
		return Service{}, fmt.Errorf("service %q: want host[:port] without a scheme", domain)
	}
	hostport, path, _ := strings.Cut(domain, "/")
	host, port, err := splitHost(hostport)
	if err != nil {
		return Service{}, fmt.Errorf("service %q: %w", domain, err)
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		return Service{}, fmt.Errorf("service %q: nobody can connect to the unspecified address", domain)
	}
	u, err := url.Parse("wss://host/" + path)
	if err == nil && (u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(path, " ?#")) {
		err = errors.New("only a path may follow the host")
	}
	if err != nil {
		return Service{}, fmt.Errorf("service %q: %w", domain, err)
	}
	return Service{host: host, port: port, path: strings.TrimRight(u.EscapedPath(), "/")}, nil
}

// Base returns the path below which everything of the service stands, "" or such as "/git".
func (s Service) Base() string { return s.path }

// Host returns the host name or address, without brackets and port.
func (s Service) Host() string { return s.host }

// String returns host[:port] and the base path, as ParseService reads them.
func (s Service) String() string { return joinHost(s.host, s.port) + s.path }

// RelayURL returns the URL that a client puts into the relays tag. It is wss, but ws for port 80 and, unless the port is
// 443, for hosts of private networks, which have private addresses or names without a dot, and of those that need a proxy (.onion).
func (s Service) RelayURL() RelayURL {
	scheme, port := "wss", s.port
	if s.port == "80" || s.port != "443" && isPrivate(s.host) {
		scheme = "ws"
	}
	if port == defaultPort(scheme) {
		port = ""
	}
	return RelayURL(scheme + "://" + joinHost(s.host, port) + s.path)
}

func isPrivate(host string) bool {
	ip, err := netip.ParseAddr(host)
	if err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return isLoopback(host) || !strings.Contains(host, ".") || needsProxy(host)
}

// Is reports whether u leads to this service: whether host, effective port and base path are the same. A service without
// a port stands at the default port of either scheme. The query does not matter.
func (s Service) Is(u RelayURL) bool {
	p, err := parseRelay(string(u))
	return err == nil && s.matches(p)
}

// Named reports whether a relay URL as strangers write it leads to this service, as Is does. A service may stand where graspd goes nowhere itself
// (.onion).
func (s Service) Named(raw string) bool {
	p, err := parseRelay(raw)
	return err == nil && s.matches(p)
}

func (s Service) matches(p parsedRelay) bool {
	if p.host != s.host || p.path != s.path {
		return false
	}
	if p.port == "" && s.port == "" {
		return true
	}
	port := p.port
	if port == "" {
		port = defaultPort(p.scheme)
	}
	return port == s.port
}

// Lists reports whether the announcement names this service in its relays tag. It compares parsed URLs, and reads 1,000
// values at most.
func (s Service) Lists(a *nip34.Announcement) bool {
	return slices.ContainsFunc(a.Relays[:min(len(a.Relays), maxLooked)], s.Named)
}
