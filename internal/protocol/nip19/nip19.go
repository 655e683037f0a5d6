// Package nip19 reads the names that people use for keys, events and repositories (NIP-19): npub, nprofile, note, nevent and naddr. It is
// exact: it refuses a text with anything wrong in it, as an operator who lists keys must get the keys that they meant. The package writes
// npubs and notes, and knows no secret keys.
package nip19

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ErrNpub says that a text is no npub, and ErrNaddr that a text is no naddr.
var (
	ErrNpub  = errors.New("not an npub")
	ErrNaddr = errors.New("not an naddr")
)

// Address is the content of an naddr, which names the newest event of a kind, author and identifier.
type Address struct {
	Kind   nostr.Kind
	PubKey nostr.PubKey
	D      string
}

// ParsePubKey reads an npub. It does not check that the key is a point of the curve. Errors wrap ErrNpub.
func ParsePubKey(s string) (nostr.PubKey, error) {
	prefix, data, err := decode(s)
	switch {
	case err != nil:
		return nostr.PubKey{}, fmt.Errorf("%w: %w", ErrNpub, err)
	case prefix != "npub":
		return nostr.PubKey{}, fmt.Errorf("%w: its prefix is another", ErrNpub)
	case len(data) != len(nostr.PubKey{}):
		return nostr.PubKey{}, fmt.Errorf("%w: %d bytes instead of 32", ErrNpub, len(data))
	}
	return nostr.PubKey(data), nil
}

// Types of the fields of an naddr. ParseAddress skips all other fields (NIP-19), also the relays, which are hints.
const (
	fieldIdentifier = 0
	fieldAuthor     = 2
	fieldKind       = 3
)

// ParseAddress reads an naddr. The identifier, the author and the kind must each stand in it once. Errors wrap ErrNaddr.
func ParseAddress(s string) (Address, error) {
	prefix, data, err := decode(s)
	switch {
	case err != nil:
		return Address{}, fmt.Errorf("%w: %w", ErrNaddr, err)
	case prefix != "naddr":
		return Address{}, fmt.Errorf("%w: its prefix is another", ErrNaddr)
	}
	a, err := parseFields(data)
	if err != nil {
		return Address{}, fmt.Errorf("%w: %w", ErrNaddr, err)
	}
	return a, nil
}

// cutField takes the first field off data. It returns the type and the value of the field, and the rest of data.
func cutField(data []byte) (field byte, value, rest []byte, err error) {
	if len(data) < 2 || len(data)-2 < int(data[1]) {
		return 0, nil, nil, errors.New("a field is cut short")
	}
	value = data[2 : 2+int(data[1])]
	return data[0], value, data[2+len(value):], nil
}

func parseFields(data []byte) (a Address, err error) {
	var seen [4]int
	for len(data) > 0 {
		var field byte
		var value []byte
		if field, value, data, err = cutField(data); err != nil {
			return Address{}, err
		}
		if int(field) < len(seen) {
			seen[field]++
		}
		if err := a.set(field, value); err != nil {
			return Address{}, err
		}
	}
	if seen[fieldIdentifier] != 1 || seen[fieldAuthor] != 1 || seen[fieldKind] != 1 {
		return Address{}, errors.New("identifier, author and kind must each stand in it once")
	}
	return a, nil
}

func (a *Address) set(field byte, value []byte) error {
	switch field {
	case fieldIdentifier:
		if !utf8.Valid(value) {
			return errors.New("the identifier is no UTF-8")
		}
		a.D = string(value)
	case fieldAuthor:
		if len(value) != len(a.PubKey) {
			return fmt.Errorf("the author has %d bytes instead of 32", len(value))
		}
		a.PubKey = nostr.PubKey(value)
	case fieldKind:
		if len(value) != 4 || binary.BigEndian.Uint32(value) > 65535 {
			return errors.New("the kind is none")
		}
		a.Kind = nostr.Kind(binary.BigEndian.Uint32(value))
	}
	return nil
}
