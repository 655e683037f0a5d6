package grasp

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ErrRepositoryPath says that a path names no repository.
var ErrRepositoryPath = errors.New("not /<npub>/<identifier>.git")

const gitSuffix = ".git"

// CloneURL returns the URL that a client puts into the clone tag for a repository that this service hosts (GRASP-01). The identifier
// stands in it as Escape writes it.
func (s Service) CloneURL(owner nostr.PubKey, identifier string) string {
	return s.WebURL() + "/" + nip19.Npub(owner) + "/" + Escape(identifier) + gitSuffix
}

// ContributedURL returns the URL to which a signer pushes contributions to repositories with that identifier (GRASP-06).
func (s Service) ContributedURL(signer nostr.PubKey, identifier string) string {
	return s.WebURL() + ContributedPath + "/" + nip19.Npub(signer) + "/" + Escape(identifier) + gitSuffix
}

// WebURL returns the HTTP URL of the service, without a slash at the end.
func (s Service) WebURL() string { return "http" + strings.TrimPrefix(string(s.RelayURL()), "ws") }

// Escape escapes all but unreserved characters (RFC 3986) in one part of a path.
func Escape(part string) string { return strings.ReplaceAll(url.QueryEscape(part), "+", "%20") }

// Clones reports whether the clone tag of the announcement has the URL of the announced repository on this service (GRASP-01), in any
// spelling. It reads 1,000 values at most.
func (s Service) Clones(a *nip34.Announcement) bool {
	return slices.ContainsFunc(a.Clone[:min(len(a.Clone), maxLooked)], func(raw string) bool {
		scheme, _, _ := strings.Cut(strings.TrimLeft(raw, " \t\r\n"), "://")
		if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
			return false
		}
		raw = strings.TrimRight(raw, "/ \t\r\n")
		at := strings.Index(raw, "/npub1")
		if at < 0 {
			return false
		}
		p, err := parseRelay(raw[:at]) // an identifier may make the rest longer than any URL of a relay
		if err != nil || p.query != "" || !s.matches(p) {
			return false
		}
		owner, identifier, rest, err := ParseRepositoryPath(raw[at:])
		return err == nil && rest == "" && owner == a.Address.PubKey && identifier == a.Address.D
	})
}

// ParseRepositoryPath reads an escaped path below the base path of a service: /<npub>/<identifier>.git, and the rest of the path. The
// rest is "" or begins with a slash. The identifier may be any but the empty one, and comes decoded. Errors wrap ErrRepositoryPath.
func ParseRepositoryPath(escaped string) (owner nostr.PubKey, identifier, rest string, err error) {
	fail := func(why error) (nostr.PubKey, string, string, error) {
		return nostr.PubKey{}, "", "", fmt.Errorf("%w: %w", ErrRepositoryPath, why)
	}
	parts := strings.SplitN(escaped, "/", 4)
	if len(parts) < 3 || parts[0] != "" {
		return fail(errors.New("too short"))
	}
	if len(parts) == 4 {
		rest = "/" + parts[3]
	}
	if owner, err = nip19.ParsePubKey(parts[1]); err != nil {
		return fail(err)
	}
	if strings.ToLower(parts[1]) != parts[1] { // ParsePubKey takes a key in upper case too
		return fail(errors.New("the npub is written in another way than usual"))
	}
	name, ok := strings.CutSuffix(parts[2], gitSuffix)
	if !ok || name == "" {
		return fail(errors.New("the name does not end with .git"))
	}
	if identifier, err = url.PathUnescape(name); err != nil {
		return fail(err)
	}
	if len(identifier) > nip34.MaxIdentifier {
		return fail(fmt.Errorf("the identifier is longer than %d bytes", nip34.MaxIdentifier))
	}
	return owner, identifier, rest, nil
}
