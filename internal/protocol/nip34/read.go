package nip34

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Errors of the parsers.
var (
	ErrKind       = errors.New("wrong kind")                                   // the parser is for another kind
	ErrIdentifier = fmt.Errorf("d tag is longer than %d bytes", MaxIdentifier) // see MaxIdentifier
)

// MaxTags is how many tags of an event the parsers read; only of a state they read all. MaxValues is how many values of
// one list, such as clone or relays, they keep after merging. They ignore everything beyond.
const (
	MaxTags   = 2000
	MaxValues = 1000
)

// tags returns the first MaxTags tags of e.
func tags(e *nostr.Event) nostr.Tags { return e.Tags[:min(len(e.Tags), MaxTags)] }

func ownAddress(e *nostr.Event, k nostr.Kind) (Address, error) {
	if e.Kind != k {
		return Address{}, fmt.Errorf("%w %d", ErrKind, e.Kind)
	}
	a, _ := AddressOf(e)
	if len(a.D) > MaxIdentifier {
		return Address{}, ErrIdentifier
	}
	return a, nil
}

// first sets dst to the value of t, unless dst has one already.
func first(dst *string, t nostr.Tag) {
	if *dst == "" {
		*dst = t.Value()
	}
}

// merge adds the values of t that are not empty to dst, up to MaxValues in the whole list.
func merge(dst *[]string, t nostr.Tag) {
	for i := 1; i < len(t) && len(*dst) < MaxValues; i++ {
		if t[i] != "" {
			*dst = append(*dst, t[i])
		}
	}
}

func pubKeys(hex []string) []nostr.PubKey {
	var keys []nostr.PubKey
	seen := make(map[nostr.PubKey]bool, len(hex))
	for _, h := range hex {
		if pk, err := nostr.ParsePubKey(h); err == nil && !seen[pk] {
			seen[pk] = true
			keys = append(keys, pk)
		}
	}
	return slices.Clip(keys)
}
