package nostr

import (
	"encoding/hex"
	"slices"
	"strconv"
)

// Event is a signed Nostr event (NIP-01). Events come from ParseEvent or SecretKey.Sign and are never changed
// afterwards, so a pointer to one may be shared freely; whoever wants to change one takes a Clone.
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

// Clone is a copy that shares no tags and does not remember the bytes it was parsed from: its encoding follows its
// fields. It is for drafts and for tests that want a forged event.
func (e *Event) Clone() *Event {
	c := *e
	c.raw = ""
	c.Tags = slices.Clone(e.Tags)
	for i, t := range c.Tags {
		c.Tags[i] = slices.Clone(t)
	}
	return &c
}

// Address is "kind:pubkey:d" for an addressable event, "kind:pubkey:" for a replaceable one, and "" for all others.
// Events with the same address replace each other.
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

// Expiration is the unix time in seconds at which the event expires (NIP-40), and whether it does. A value that is not
// a decimal number is ignored, as are all expiration tags but the first. A request to vanish never does: what it asks
// for is for ever (NIP-62).
func (e *Event) Expiration() (int64, bool) {
	v, ok := e.Tags.First("expiration")
	if !ok || e.Kind == KindVanish {
		return 0, false
	}
	t, err := strconv.ParseInt(v, 10, 64)
	return t, err == nil
}

// Protected reports whether only its author may publish the event (NIP-70).
func (e *Event) Protected() bool {
	_, ok := e.Tags.First("-")
	return ok
}

// Stamp is what orders the versions of a replaceable event (NIP-01).
type Stamp struct {
	CreatedAt int64
	ID        ID
}

// Stamp is the event's.
func (e *Event) Stamp() Stamp { return Stamp{e.CreatedAt, e.ID} }

// Newer reports whether a replaces b: it was created later, or at the same second with the lower id (NIP-01).
func (a Stamp) Newer(b Stamp) bool {
	if a.CreatedAt != b.CreatedAt {
		return a.CreatedAt > b.CreatedAt
	}
	return a.ID.Compare(b.ID) < 0
}
