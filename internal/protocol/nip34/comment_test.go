package nip34

import (
	"fmt"
	"strconv"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Comment is a NIP-22 comment (kind 1111).
type Comment struct {
	ID     nostr.ID
	Author nostr.PubKey
	Root   Scope // what the thread is about, from the upper-case tags
	Parent Scope // what is answered, from the lower-case tags; the root where they are missing
	Text   string
}

// Scope is what a comment is on: an event by its id, one that can be replaced by its address and perhaps also the id of
// the version, or something outside Nostr.
type Scope struct {
	ID       nostr.ID // zero if none
	Address  Address  // zero if none
	External string   // a NIP-73 id, "" if none
	Kind     string   // the kind as decimal, or what a NIP-73 id is of
}

// NostrKind is the kind of the event that the scope names, and whether it is a kind at all.
func (s Scope) NostrKind() (nostr.Kind, bool) {
	k, err := strconv.ParseUint(s.Kind, 10, 16)
	return nostr.Kind(k), err == nil
}

// ParseComment reads a kind 1111 event. It fails with ErrKind, and with ErrIncomplete where no root is named. A missing K
// or k tag, which NIP-22 asks for, leaves Kind empty.
func ParseComment(e *nostr.Event) (*Comment, error) {
	if e.Kind != nostr.KindComment {
		return nil, fmt.Errorf("parse comment: %w %d", ErrKind, e.Kind)
	}
	c := &Comment{ID: e.ID, Author: e.PubKey, Text: e.Content}
	for _, t := range tags(e) {
		switch t.Name() {
		case "E", "A", "I", "K":
			c.Root.set(t.Name()[0]|0x20, t)
		case "e", "a", "i", "k":
			c.Parent.set(t.Name()[0], t)
		}
	}
	if !c.Root.named() {
		return nil, fmt.Errorf("parse comment: %w: no root scope", ErrIncomplete)
	}
	if !c.Parent.named() {
		c.Parent = c.Root
	}
	return c, nil
}

// set takes the first usable tag of each letter.
func (s *Scope) set(letter byte, t nostr.Tag) {
	switch letter {
	case 'k':
		first(&s.Kind, t)
	case 'i':
		first(&s.External, t)
	case 'e':
		if id, err := nostr.ParseID(t.Value()); err == nil && s.ID == (nostr.ID{}) {
			s.ID = id
		}
	case 'a':
		if a, err := ParseAddress(t.Value()); err == nil && s.Address == (Address{}) {
			s.Address = a
		}
	}
}

func (s *Scope) named() bool {
	return s.ID != (nostr.ID{}) || s.Address != (Address{}) || s.External != ""
}
