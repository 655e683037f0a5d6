package grasp

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ErrSource says that a text is no URL from which graspd would fetch a repository.
var ErrSource = errors.New("clone URL")

// Source is a normalised URL from which graspd fetches a repository over smart HTTP: equal values are the same repository of the same
// server. It is "http" or "https", a host in lower case and ASCII, a port unless it is the scheme's own, and an escaped path without
// a slash at its end.
type Source string

// ParseSource reads a value of a clone tag. It refuses other schemes than http and https, whatever NormalizeRelay refuses, a query, and a
// URL without a path. Errors are ErrSource.
func ParseSource(raw string) (Source, error) {
	p, err := readSource(raw)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrSource, err)
	}
	return Source("http" + strings.TrimPrefix(p.scheme, "ws") + "://" + joinHost(p.host, p.port) + p.path), nil
}

func readSource(raw string) (parsedRelay, error) {
	scheme, _, _ := strings.Cut(strings.TrimLeft(raw, " \t\r\n"), "://")
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return parsedRelay{}, errors.New("scheme is not http or https")
	}
	p, err := parseRelay(raw)
	switch {
	case err != nil:
		return p, err
	case needsProxy(p.host):
		return p, errProxy
	case p.query != "":
		return p, errors.New("holds a query")
	case p.path == "":
		return p, errors.New("names a server and no repository on it")
	}
	return p, nil
}

// Source returns the URL of a repository on the relay, if the relay is a GRASP server; false where the URL of the relay has a query.
func (u RelayURL) Source(owner nostr.PubKey, identifier string) (Source, bool) {
	p, err := parseRelay(string(u))
	if err != nil || p.query != "" {
		return "", false
	}
	p.path += "/" + nip19.Npub(owner) + "/" + Escape(identifier) + gitSuffix
	return Source("http" + strings.TrimPrefix(p.scheme, "ws") + "://" + joinHost(p.host, p.port) + p.path), true
}

// Implied returns the URLs that an operator implies for a repository who names relays: the repository's own on each relay that may be a GRASP
// server. A contributed repository has none, nor has one whose identifier leads elsewhere where a server reads it as a path.
func Implied(relays []RelayURL, of nip34.Address) (out []Source) {
	if IsContributed(of) || leadsAway(of.D) {
		return nil
	}
	for _, u := range relays {
		if s, ok := u.Source(of.PubKey, of.D); ok {
			out = append(out, s)
		}
	}
	return out
}

// leadsAway reports whether an identifier may leave the place of its owner at a server that decodes it, once or more often, before it reads
// slashes and dots.
func leadsAway(identifier string) bool {
	parts := strings.FieldsFunc(identifier, func(r rune) bool { return r == '/' || r == '\\' })
	return len(parts) == 0 || strings.Contains(identifier, "%") || slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, "..") })
}

// Host returns the host without port and brackets.
func (s Source) Host() string {
	u, err := url.Parse(string(s))
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Server returns the host, with the port where it is not the scheme's own.
func (s Source) Server() string {
	u, err := url.Parse(string(s))
	if err != nil {
		return ""
	}
	return u.Host
}

// Has reports whether a source is below the base path of this service, in any spelling of the path. graspd never fetches from itself.
func (s Service) Has(source Source) bool {
	p, err := readSource(string(source))
	if err != nil {
		return false
	}
	below := strings.HasPrefix(plain(p.path)+"/", plain(s.path)+"/")
	p.path = s.path
	return below && s.matches(p)
}

// plain returns an escaped path as servers read it.
func plain(escaped string) string {
	p, err := url.PathUnescape(escaped)
	if err != nil {
		p = escaped
	}
	return strings.TrimSuffix(path.Clean("/"+p), "/")
}

// Sources returns at most max sources of clone tags, each once, without the sources of this service. First come sources on hosts where the
// announcement has a relay too: these are GRASP servers. Sources reads 1,000 values at most. a may be nil.
func (s Service) Sources(a *nip34.Announcement, clone []string, max int) []Source {
	relays := map[string]bool{}
	if a != nil {
		for _, u := range Relays(a, maxLooked) {
			relays[u.Host()] = true
		}
	}
	var pairs, others []Source
	seen := map[Source]bool{}
	for _, raw := range clone[:min(len(clone), maxLooked)] {
		u, err := ParseSource(raw)
		if err != nil || seen[u] || s.Has(u) {
			continue
		}
		seen[u] = true
		if relays[u.Host()] {
			pairs = append(pairs, u)
		} else {
			others = append(others, u)
		}
	}
	all := append(pairs, others...)
	return all[:min(len(all), max)]
}
