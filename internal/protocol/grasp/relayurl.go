package grasp

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip34"
)

// MaxURL is the longest relay URL in bytes, before and after it is normalised.
const MaxURL = 512

// ErrURL says that a text is no relay URL that graspd would use.
var ErrURL = errors.New("relay URL")

// RelayURL is a normalised relay URL: equal values are the same relay. It is "ws" or "wss", a host in lower case and
// ASCII, a port unless it is the scheme's own, a path without a slash at its end, and the query if there is one.
type RelayURL string

// NormalizeRelay reads a relay URL as strangers write it. A URL without a scheme becomes wss, or ws for localhost and
// loopback addresses; http becomes ws and https wss. NormalizeRelay drops the fragment. It refuses user names, control
// characters, spaces inside, ports outside 1-65535, hosts that are no DNS name or address, numbers that only some
// resolvers take for an address, names of networks that need a proxy (.onion, .i2p, .loki), and URLs longer than MaxURL.
// Errors are ErrURL.
func NormalizeRelay(raw string) (RelayURL, error) {
	u, err := parseRelay(raw)
	if err == nil && needsProxy(u.host) {
		err = errProxy
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrURL, err)
	}
	return u.normal()
}

// String returns the URL as text.
func (u RelayURL) String() string { return string(u) }

// Host returns the host without port and brackets.
func (u RelayURL) Host() string {
	p, err := parseRelay(string(u))
	if err != nil {
		return ""
	}
	return p.host
}

// Domain returns the host, the port unless it is the scheme's own, and the path: the form that ParseService reads.
func (u RelayURL) Domain() string {
	p, err := parseRelay(string(u))
	if err != nil {
		return ""
	}
	return joinHost(p.host, p.port) + p.path
}

// parsedRelay is a relay URL in parts, each normalised.
type parsedRelay struct {
	scheme string // ws or wss
	host   string // ASCII, lower case; an IPv6 address without brackets
	port   string // "" for the scheme's own
	path   string // escaped, "" for the root
	query  string
}

func (p parsedRelay) normal() (RelayURL, error) {
	s := p.scheme + "://" + joinHost(p.host, p.port) + p.path
	if p.query != "" {
		s += "?" + p.query
	}
	if len(s) > MaxURL {
		return "", fmt.Errorf("%w: longer than %d bytes", ErrURL, MaxURL)
	}
	return RelayURL(s), nil
}

// defaultPort returns the port of a URL with that scheme and no port.
func defaultPort(scheme string) string {
	if scheme == "ws" {
		return "80"
	}
	return "443"
}

func parseRelay(raw string) (parsedRelay, error) {
	raw = strings.Trim(raw, " \t\r\n")
	if raw == "" || len(raw) > MaxURL {
		return parsedRelay{}, fmt.Errorf("empty or longer than %d bytes", MaxURL)
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' || r == 0xfffd }) {
		return parsedRelay{}, errors.New("holds a space, a control character or a backslash")
	}
	scheme, rest, err := cutScheme(raw)
	if err != nil {
		return parsedRelay{}, err
	}
	u, err := url.Parse("wss://" + rest)
	if err != nil {
		return parsedRelay{}, errors.New("malformed")
	}
	if u.User != nil {
		return parsedRelay{}, errors.New("holds a user name")
	}
	host, port, err := splitHost(u.Host)
	if err != nil {
		return parsedRelay{}, err
	}
	if scheme == "" {
		scheme = "wss"
		if isLoopback(host) {
			scheme = "ws"
		}
	}
	if port == defaultPort(scheme) {
		port = ""
	}
	if strings.ContainsFunc(u.RawQuery, func(r rune) bool { return r > '~' }) {
		return parsedRelay{}, errors.New("query is not ASCII")
	}
	return parsedRelay{scheme, host, port, strings.TrimRight(u.EscapedPath(), "/"), u.RawQuery}, nil
}

// cutScheme returns the scheme of raw as ws or wss, or "" where there is none, and the text after the scheme.
func cutScheme(raw string) (scheme, rest string, err error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		for _, s := range []string{"ws:", "wss:", "http:", "https:"} {
			if len(raw) >= len(s) && strings.EqualFold(raw[:len(s)], s) {
				return "", "", errors.New("scheme without //")
			}
		}
		return "", raw, nil
	}
	switch strings.ToLower(scheme) {
	case "wss", "https":
		return "wss", rest, nil
	case "ws", "http":
		return "ws", rest, nil
	}
	return "", "", errors.New("scheme is not ws or wss")
}

// isLoopback reports whether host names this machine, by name or by address.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// maxLooked is how many values of one list of an announcement this package reads.
const maxLooked = 1000

// Relays returns the first max valid relays of an announcement in its order, each once. It reads 1,000 values at most.
func Relays(a *nip34.Announcement, max int) []RelayURL {
	var list []RelayURL
	seen := map[RelayURL]bool{}
	for _, raw := range a.Relays[:min(len(a.Relays), maxLooked)] {
		if len(list) >= max {
			break
		}
		if u, err := NormalizeRelay(raw); err == nil && !seen[u] {
			seen[u] = true
			list = append(list, u)
		}
	}
	return list
}
