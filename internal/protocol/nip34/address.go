package nip34

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// MaxIdentifier is the longest d value in bytes that names anything here: 2,000 characters of four bytes and some more.
const MaxIdentifier = 8192

// ErrAddress says that a text is no address of a replaceable or addressable event.
var ErrAddress = errors.New("not an address")

// Address names the newest event of a kind, author and identifier (NIP-01): "30617:<pubkey>:<d>" is a repository. An
// Address is comparable. D may be empty and may hold colons; it is always empty for plain replaceable kinds.
type Address struct {
	Kind   nostr.Kind
	PubKey nostr.PubKey
	D      string
}

// String returns the form that stands in tags and filters.
func (a Address) String() string {
	b := strconv.AppendInt(make([]byte, 0, 192), int64(a.Kind), 10)
	b = hex.AppendEncode(append(b, ':'), a.PubKey[:])
	return string(append(append(b, ':'), a.D...))
}

// Compare orders addresses by kind, author and identifier.
func (a Address) Compare(b Address) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), a.PubKey.Compare(b.PubKey), cmp.Compare(a.D, b.D))
}

// ParseAddress reads "kind:pubkey:d". Everything after the second colon is d, which may hold colons itself. The kind is
// decimal without sign or leading zeros, and the key is lower-case hex: no filter would find another spelling. Only for
// replaceable kinds may the second colon be missing, as some clients leave it out. Errors are ErrAddress.
func ParseAddress(s string) (Address, error) {
	kind, rest, ok := strings.Cut(s, ":")
	key, d, full := strings.Cut(rest, ":")
	if !ok || len(d) > MaxIdentifier {
		return Address{}, ErrAddress
	}
	k, err := strconv.ParseUint(kind, 10, 16)
	if err != nil || strconv.FormatUint(k, 10) != kind {
		return Address{}, fmt.Errorf("%w: kind", ErrAddress)
	}
	pk, err := nostr.ParsePubKey(key)
	if err != nil {
		return Address{}, fmt.Errorf("%w: public key: %w", ErrAddress, err)
	}
	a := Address{Kind: nostr.Kind(k), PubKey: pk, D: d}
	if a.Kind.IsAddressable() && full || a.Kind.IsReplaceable() && d == "" {
		return a, nil
	}
	return Address{}, fmt.Errorf("%w: kind and identifier do not fit", ErrAddress)
}

// AddressOf returns the address at which e stands. It reports false for an event that is neither replaceable nor
// addressable. A missing d tag counts as an empty one (NIP-01).
func AddressOf(e *nostr.Event) (Address, bool) {
	a := Address{Kind: e.Kind, PubKey: e.PubKey}
	switch {
	case e.Kind.IsAddressable():
		a.D = e.Tags.D()
	case !e.Kind.IsReplaceable():
		return Address{}, false
	}
	return a, true
}
