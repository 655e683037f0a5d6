package nostr

import (
	"encoding/hex"
	"slices"
	"strconv"
)

// Event is a signed Nostr event (NIP-01). Events come from ParseEvent or SecretKey.Sign. Nobody changes an event afterwards, so any number
// of goroutines may share a pointer to one; whoever wants to change an event takes a Clone.
type Event struct {
	ID        ID
	PubKey    PubKey
	CreatedAt int64 // seconds since 1970, never negative
	Kind      Kind
	Tags      Tags
	Content   string
	Sig       Sig

	raw string // the encoding as received, or "" where it has to be made
}

// Clone returns a copy that shares no tags and has forgotten the bytes that the event was parsed from: the encoding of the copy follows its
// fields. Clone is for drafts, and for tests that want a forged event.
func (e *Event) Clone() *Event {
	c := *e
	c.raw = ""
	c.Tags = slices.Clone(e.Tags)
	for i, t := range c.Tags {
		c.Tags[i] = slices.Clone(t)
	}
	return &c
}

// Address returns "kind:pubkey:d" for an addressable event, "kind:pubkey:" for a replaceable one, and "" for any other. Events with the
// same address replace each other.
func (e *Event) Address() string {
	var d string
	switch {
	case e.Kind.IsAddressable():
		d = e.Tags.D()
	case !e.Kind.IsReplaceable():
		return ""
	}
	b := make([]byte, 0, len("65535:")+2*len(e.PubKey)+1+len(d))
	b = append(strconv.AppendUint(b, uint64(e.Kind), 10), ':')
	b = append(hex.AppendEncode(b, e.PubKey[:]), ':')
	return string(append(b, d...))
}

// Expiration returns the unix time in seconds at which the event expires (NIP-40), and whether it expires. Expiration ignores a value that
// is not a decimal number, and all expiration tags but the first. A request to vanish never expires: it asks for something that is for ever
// (NIP-62).
func (e *Event) Expiration() (int64, bool) {
	v, ok := e.Tags.First("expiration")
	if !ok || e.Kind == KindVanish {
		return 0, false
	}
	t, err := strconv.ParseInt(v, 10, 64)
	return t, err == nil
}

// Protected reports whether only the event's author may publish it (NIP-70).
func (e *Event) Protected() bool {
	_, ok := e.Tags.First("-")
	return ok
}

// Stamp orders the versions of a replaceable event (NIP-01).
type Stamp struct {
	CreatedAt int64
	ID        ID
}

// Stamp returns the creation time and the id of the event, which order it among its versions.
func (e *Event) Stamp() Stamp { return Stamp{e.CreatedAt, e.ID} }

// Newer reports whether a replaces b: a was created later, or in the same second with the lower id (NIP-01).
func (a Stamp) Newer(b Stamp) bool {
	if a.CreatedAt != b.CreatedAt {
		return a.CreatedAt > b.CreatedAt
	}
	return a.ID.Compare(b.ID) < 0
}
