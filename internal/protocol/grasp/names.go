package grasp

import (
	"net/url"
	"slices"
	"strings"
)

// Names reports whether a URL that somebody has signed (NIP-42, NIP-98, GRASP-08), or the origin of a page, names a path of this service and
// nothing more. The path begins at the host and is not escaped; a slash at the end makes no difference. The URL is compared as it is parsed: the
// spelling of host, escapes and port does not matter. Nor does the scheme, for HTTP or WebSocket, with encryption or without, as a proxy may
// have taken that off, and the relay does not see where it stands for its clients.
func (s Service) Names(raw, path string) bool {
	if strings.ContainsAny(raw, "?#") || !strings.Contains(raw, "://") {
		return false
	}
	p, err := parseRelay(raw)
	if err != nil || p.host != s.host || !s.standsAt(p) {
		return false
	}
	named, err := url.PathUnescape(p.path)
	return err == nil && strings.TrimRight(named, "/") == strings.TrimRight(path, "/")
}

// Root returns the path of the service as Names reads it: Base, not escaped.
func (s Service) Root() string {
	root, err := url.PathUnescape(s.path)
	if err != nil {
		return s.path // it was parsed, so this does not happen
	}
	return root
}

// standsAt reports whether the port of a URL may be that of the service: the same, or the port of the scheme. A service without a port stands at
// the ports of both schemes.
func (s Service) standsAt(p parsedRelay) bool {
	port := p.port
	if port == "" {
		port = defaultPort(p.scheme)
	}
	ports := []string{s.port}
	if s.port == "" {
		ports = []string{"80", "443"}
	}
	return slices.Contains(ports, port)
}
