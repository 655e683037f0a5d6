package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var (
	errAuthorEntry     = errors.New("want a public key, as npub1… or 64 lower-case hex digits")
	errRepositoryEntry = errors.New("want a repository, as 30617:<public key>:<identifier>, naddr1… or <npub>/<identifier>, or an npub for all of its author's")
	errSecretEntry     = errors.New("this is a secret key: lists hold public keys; if others may have seen it, it is theirs too")
)

// IsSecret reports whether err refuses an entry because it is a secret key, which nobody should repeat.
func IsSecret(err error) bool { return errors.Is(err, errSecretEntry) }

// AddAuthor adds an entry of a list of authors. It reads the entry by ParseAuthor.
func (p *PubKeys) AddAuthor(entry string) error {
	pk, err := ParseAuthor(entry)
	if err != nil {
		return err
	}
	p.add(pk)
	return nil
}

func (p *PubKeys) add(pk nostr.PubKey) {
	if *p == nil {
		*p = make(PubKeys)
	}
	(*p)[pk] = struct{}{}
}

// AddRepository adds an entry of a list of repositories. It reads the entry by ParseRepository; an author alone stands for all their
// repositories.
func (r *Repositories) AddRepository(entry string) error {
	if pk, err := ParseAuthor(entry); err == nil {
		r.Owners.add(pk)
		return nil
	} else if IsSecret(err) {
		return err
	}
	a, err := ParseRepository(entry)
	switch {
	case err != nil:
		return fmt.Errorf("%w (%w)", errRepositoryEntry, err)
	case a.Kind != nip34.KindRepository:
		return fmt.Errorf("%w (this names an event of kind %d)", errRepositoryEntry, a.Kind)
	case len(a.D) > nip34.MaxIdentifier:
		return fmt.Errorf("%w (the identifier is longer than %d bytes)", errRepositoryEntry, nip34.MaxIdentifier)
	}
	if r.Addresses == nil {
		r.Addresses = make(map[nip34.Address]struct{})
	}
	r.Addresses[a] = struct{}{}
	return nil
}

// ParseAuthor reads a public key as operators write it: as an npub or in hex.
func ParseAuthor(s string) (nostr.PubKey, error) {
	if strings.HasPrefix(strings.ToLower(s), "nsec1") {
		return nostr.PubKey{}, errSecretEntry
	}
	if pk, err := nostr.ParsePubKey(s); err == nil {
		return pk, nil
	}
	if !strings.HasPrefix(strings.ToLower(s), "npub1") {
		return nostr.PubKey{}, errAuthorEntry
	}
	pk, err := nip19.ParsePubKey(s)
	if err != nil {
		return nostr.PubKey{}, fmt.Errorf("%w (%w)", errAuthorEntry, err)
	}
	return pk, nil
}

// ParseRepository reads an address as operators write it: naddr1…, <author>/<identifier>, or <kind>:<public key>:<identifier>. The kind
// need not be that of a repository.
func ParseRepository(s string) (nip34.Address, error) {
	if strings.HasPrefix(strings.ToLower(s), "naddr1") {
		a, err := nip19.ParseAddress(s)
		return nip34.Address(a), err
	}
	// An identifier may hold slashes and colons; a key holds neither.
	if author, d, ok := strings.Cut(s, "/"); ok && !strings.Contains(author, ":") {
		pk, err := ParseAuthor(author)
		return nip34.Address{Kind: nip34.KindRepository, PubKey: pk, D: d}, err
	}
	return nip34.ParseAddress(s)
}
