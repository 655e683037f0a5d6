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

// Named is what a text names: an event, an author, or what stands at an address. The other fields are zero. Of 64 hex digits nobody can tell
// whether they are an event or an author: then both fields have them.
type Named struct {
	Event   nostr.ID
	Author  nostr.PubKey
	Address nip34.Address
}

var (
	// ErrSecret says that a text is a secret key, which nobody should repeat.
	ErrSecret = errors.New("this is a secret key, and a public one is wanted; if others may have seen it, it is theirs too")

	errNothing    = errors.New("it names no event, author or repository")
	errPlace      = errors.New("it is where somebody pushes pull requests, and no repository of theirs")
	errAuthor     = errors.New("want a public key, as npub1…, nprofile1… or 64 lower-case hex digits")
	errEvent      = errors.New("want an event, as note1…, nevent1…, the URL of its page or 64 lower-case hex digits")
	errRepository = errors.New("want a repository, as <npub>/<identifier>, naddr1…, its URL or 30617:<public key>:<identifier>")
)

// Hex reports whether the text had hex digits alone, so that nobody can tell what they name.
func (n Named) Hex() bool { return n.Event != nostr.ID{} && n.Author != nostr.PubKey{} }

// ParseNamed reads whatever people copy to name something: note, nevent, npub, nprofile and naddr (NIP-19), with nostr: before them or not
// (NIP-21), hex digits, <author>/<identifier>, <kind>:<public key>:<identifier>, the URL by which ngit clones a repository, and the URL of a
// page here or in a web client. It fails with ErrSecret for a secret key.
func ParseNamed(text string) (Named, error) {
	if len(text) > 6 && strings.EqualFold(text[:6], "nostr:") && !strings.HasPrefix(text[6:], "//") {
		text = text[6:]
	}
	if a, err := nip34.ParseAddress(text); err == nil {
		return Named{Address: a}, nil
	}
	if pk, err := nostr.ParsePubKey(text); err == nil {
		return Named{Author: pk, Event: nostr.ID(pk)}, nil
	}
	if scheme, _, _ := strings.Cut(strings.ToLower(text), "://"); slices.Contains([]string{"https", "http", "nostr"}, scheme) {
		return parseURL(text)
	}
	// An identifier may hold slashes and colons; a key holds neither.
	if author, d, ok := strings.Cut(text, "/"); ok && !strings.Contains(author, ":") {
		pk, err := ParseAuthor(author)
		return Named{Address: nip34.Address{Kind: nip34.KindRepository, PubKey: pk, D: d}}, err
	}
	return parseName(text)
}

// parseName reads a name of NIP-19.
func parseName(s string) (n Named, err error) {
	prefix, _, _ := strings.Cut(strings.ToLower(s), "1")
	switch prefix {
	case "nsec", "ncryptsec":
		err = ErrSecret
	case "note", "nevent":
		n.Event, err = nip19.ParseEvent(s)
	case "npub", "nprofile":
		n.Author, err = nip19.ParseProfile(s)
	case "naddr":
		var a nip19.Address
		a, err = nip19.ParseAddress(s)
		n.Address = nip34.Address(a)
	default:
		err = errNothing
	}
	return n, err
}

// parseURL reads the URL of a page or of a repository. Only the path and the fragment count, as the same thing has pages at many hosts.
func parseURL(text string) (Named, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Named{}, errNothing
	}
	if id, err := nip19.ParseEvent(u.Fragment); err == nil { // a comment on the page of something else
		return Named{Event: id}, nil
	}
	path := u.EscapedPath()
	if u.Scheme == "nostr" {
		path = u.Host + path
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range parts {
		n, err := parseName(part)
		switch {
		case errors.Is(err, errNothing):
			continue
		case err != nil || n.Author == nostr.PubKey{} || i == len(parts)-1:
			return n, err
		case i > 0 && "/"+parts[i-1] == ContributedPath:
			return Named{}, errPlace
		}
		return parseBelow(n.Author, parts[i+1:])
	}
	return Named{}, errNothing
}

// parseBelow reads what follows the owner in the path of a page. A web client may have a relay between owner and identifier.
func parseBelow(owner nostr.PubKey, rest []string) (Named, error) {
	name, here := strings.CutSuffix(rest[0], gitSuffix)
	if !here && len(rest) > 1 && (strings.ContainsAny(rest[0], ".:") || strings.Contains(strings.ToLower(rest[0]), "%3a")) {
		rest = rest[1:]
		name = rest[0]
	}
	if len(rest) == 3 && slices.Contains([]string{"issues", "patches", "pulls", "prs"}, rest[1]) { // what stands deeper may be the name of a file
		if n, err := parseName(rest[2]); err == nil && n.Event != (nostr.ID{}) {
			return n, nil
		}
	}
	d, err := url.PathUnescape(name)
	if err != nil || d == "" {
		return Named{}, errNothing
	}
	return Named{Address: nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: d}}, nil
}

// wanted returns what a text names, or the error for a text that names nothing or another thing than want says.
func wanted(text string, is func(Named) bool, want error) (Named, error) {
	n, err := ParseNamed(text)
	switch {
	case errors.Is(err, ErrSecret), err == nil && is(n):
		return n, err
	case err != nil:
		return n, fmt.Errorf("%w (%w)", want, err)
	}
	return n, fmt.Errorf("%w (this names %s)", want, n.sort())
}

// sort names the sort of thing that n is.
func (n Named) sort() string {
	switch {
	case n.Author != nostr.PubKey{}:
		return "an author"
	case n.Event != nostr.ID{}:
		return "an event"
	case n.Address.Kind == nip34.KindRepository:
		return "a repository"
	}
	return fmt.Sprintf("an event of kind %d", n.Address.Kind)
}

// ParseAuthor reads what names an author, as ParseNamed does.
func ParseAuthor(text string) (nostr.PubKey, error) {
	n, err := wanted(text, func(n Named) bool { return n.Author != nostr.PubKey{} }, errAuthor)
	return n.Author, err
}

// ParseEvent reads what names an event by its id, as ParseNamed does.
func ParseEvent(text string) (nostr.ID, error) {
	n, err := wanted(text, func(n Named) bool { return n.Event != nostr.ID{} }, errEvent)
	return n.Event, err
}

// ParseRepository reads what names a repository, as ParseNamed does, and returns the address of its announcement.
func ParseRepository(text string) (nip34.Address, error) {
	n, err := wanted(text, func(n Named) bool { return n.Address.Kind == nip34.KindRepository }, errRepository)
	if err == nil && len(n.Address.D) > nip34.MaxIdentifier {
		err = fmt.Errorf("%w (the identifier is longer than %d bytes)", errRepository, nip34.MaxIdentifier)
	}
	return n.Address, err
}
