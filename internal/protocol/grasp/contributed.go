package grasp

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ContributedPath is the first part of the path below which contributors push (GRASP-06).
const ContributedPath = "/prs"

// Contributed returns the address by which graspd knows the repository at /prs/<signer npub>/<identifier>.git, to which that signer pushes
// the commits of pull requests (GRASP-06). No event stands at this address, and no tag names it.
func Contributed(signer nostr.PubKey, identifier string) nip34.Address {
	return nip34.Address{Kind: nip34.KindPullRequest, PubKey: signer, D: identifier}
}

// IsContributed reports whether an address is one that Contributed makes, and not the address of an announcement.
func IsContributed(of nip34.Address) bool { return of.Kind == nip34.KindPullRequest }

// ParseHosted reads the address of an announced or a contributed repository, as Address.String writes it. Errors are nip34.ErrAddress.
func ParseHosted(s string) (nip34.Address, error) {
	signer, ok := strings.CutPrefix(s, "1618:")
	if !ok {
		a, err := nip34.ParseAddress(s)
		if err == nil && a.Kind != nip34.KindRepository {
			err = nip34.ErrAddress
		}
		return a, err
	}
	a, err := nip34.ParseAddress("30617:" + signer)
	a.Kind = nip34.KindPullRequest
	return a, err
}

// maxContributed is how many contributed repositories one pull request can have.
const maxContributed = 8

// Contributions returns the contributed repositories of this service that a pull request, or an update of one, names in its clone tag. The
// repository must be the signer's own, and have the identifier of an announcement that the a tags name. It reads 1,000 values at most.
func (s Service) Contributions(e *nostr.Event) (out []nip34.Address) {
	t, err := nip34.ParseTip(e)
	if err != nil || len(t.Repositories) == 0 {
		return nil
	}
	for _, raw := range t.Clone[:min(len(t.Clone), maxLooked)] {
		signer, d, ok := s.contributed(raw)
		if !ok || signer != e.PubKey || len(out) == maxContributed {
			continue
		}
		named := slices.ContainsFunc(t.Repositories, func(a nip34.Address) bool { return a.D == d })
		if of := Contributed(signer, d); named && !slices.Contains(out, of) {
			out = append(out, of)
		}
	}
	return out
}

// contributed reads the URL of a contributed repository of this service.
func (s Service) contributed(raw string) (signer nostr.PubKey, d string, ok bool) {
	scheme, _, _ := strings.Cut(strings.TrimLeft(raw, " \t\r\n"), "://")
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return signer, "", false
	}
	raw = strings.TrimRight(raw, "/ \t\r\n")
	base, path, ok := strings.Cut(raw, ContributedPath+"/npub1")
	if !ok {
		return signer, "", false
	}
	p, err := parseRelay(base)
	if err != nil || p.query != "" || !s.matches(p) {
		return signer, "", false
	}
	signer, d, rest, err := ParseRepositoryPath("/npub1" + path)
	return signer, d, err == nil && rest == ""
}
