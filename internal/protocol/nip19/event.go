package nip19

import (
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ErrEvent says that a text names no event, and ErrProfile that a text names nobody.
var (
	ErrEvent   = errors.New("not a note or nevent")
	ErrProfile = errors.New("not an npub or nprofile")
)

// Note returns the note of an event, as people write the event's id.
func Note(id nostr.ID) string { return encode("note", id[:]) }

// ParseEvent reads a note or an nevent, and skips the relays and the author, which are hints. Errors wrap ErrEvent.
func ParseEvent(s string) (nostr.ID, error) {
	b, err := special(s, "note", "nevent")
	if err != nil {
		return nostr.ID{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	return nostr.ID(b), nil
}

// ParseProfile reads an npub or an nprofile, and skips the relays, which are hints. Errors wrap ErrProfile.
func ParseProfile(s string) (nostr.PubKey, error) {
	b, err := special(s, "npub", "nprofile")
	if err != nil {
		return nostr.PubKey{}, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	return nostr.PubKey(b), nil
}

// special reads 32 bytes: from a text with the prefix bare, or from field 0 of a text with the prefix fields. Field 0 must stand there once.
func special(s, bare, fields string) (out [32]byte, err error) {
	prefix, data, err := decode(s)
	if err != nil {
		return out, err
	}
	switch prefix {
	case bare:
	case fields:
		if data, err = fieldZero(data); err != nil {
			return out, err
		}
	default:
		return out, errors.New("its prefix is another")
	}
	if len(data) != len(out) {
		return out, fmt.Errorf("%d bytes instead of 32", len(data))
	}
	return [32]byte(data), nil
}

func fieldZero(data []byte) (found []byte, err error) {
	for len(data) > 0 {
		var field byte
		var value []byte
		if field, value, data, err = cutField(data); err != nil {
			return nil, err
		}
		if field != 0 {
			continue
		}
		if found != nil {
			return nil, errors.New("it names more than one")
		}
		found = value
	}
	return found, nil
}
