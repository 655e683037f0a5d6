package nip34

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// MaxReferences is how many distinct addresses and ids References returns, together.
const MaxReferences = 256

// Refs holds what an event names, without repeats, in the order of the event.
type Refs struct {
	Addresses []Address
	IDs       []nostr.ID
}

// References reads what e names: addresses in its a, A and q tags, event ids in its e, E and q tags. It skips values that
// are neither, and returns at most MaxReferences.
func References(e *nostr.Event) Refs {
	var addresses distinct[Address]
	var ids distinct[nostr.ID]
	for _, t := range tags(e) {
		if len(addresses.list)+len(ids.list) == MaxReferences {
			break
		}
		switch t.Name() {
		case "a", "A":
			addAddress(&addresses, t.Value())
		case "e", "E":
			addID(&ids, t.Value())
		case "q":
			addID(&ids, t.Value())
			addAddress(&addresses, t.Value())
		}
	}
	return Refs{addresses.list, ids.list}
}

func addAddress(to *distinct[Address], s string) {
	if a, err := ParseAddress(s); err == nil {
		to.add(a)
	}
}

func addID(to *distinct[nostr.ID], s string) {
	if id, err := nostr.ParseID(s); err == nil {
		to.add(id)
	}
}

// distinct is a list without repeats. A list of few values, as nearly all events have, needs no map.
type distinct[T comparable] struct {
	list []T
	seen map[T]bool // from fewValues on
}

const fewValues = 16

func (d *distinct[T]) add(v T) {
	if len(d.list) < fewValues && slices.Contains(d.list, v) || d.seen[v] {
		return
	}
	d.list = append(d.list, v)
	switch {
	case d.seen != nil:
		d.seen[v] = true
	case len(d.list) == fewValues:
		d.seen = make(map[T]bool)
		for _, v := range d.list {
			d.seen[v] = true
		}
	}
}

// Repositories returns the repositories that the a tags of e name, without repeats and at most MaxReferences.
func Repositories(e *nostr.Event) []Address {
	var named distinct[Address]
	for t := range tags(e).All("a") {
		if len(named.list) == MaxReferences {
			break
		}
		if a, err := ParseAddress(t.Value()); err == nil && a.Kind == KindRepository {
			named.add(a)
		}
	}
	return named.list
}
