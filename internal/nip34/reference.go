package nip34

import "graspd/internal/nostr"

// MaxReferences is how many distinct addresses and ids References gives, together.
const MaxReferences = 256

// Refs are the things that an event names, without repeats, in the order in which they stand.
type Refs struct {
	Addresses []Address
	IDs       []nostr.ID
}

// References reads what e names: addresses in its a, A and q tags, event ids in its e, E and q tags. Values that are
// neither are skipped. At most MaxReferences are given.
func References(e *nostr.Event) Refs {
	var refs Refs
	addresses, ids := map[Address]bool{}, map[nostr.ID]bool{}
	for _, t := range tags(e) {
		if len(refs.Addresses)+len(refs.IDs) == MaxReferences {
			break
		}
		switch t.Name() {
		case "a", "A":
			refs.address(t.Value(), addresses)
		case "e", "E":
			refs.id(t.Value(), ids)
		case "q":
			refs.id(t.Value(), ids)
			refs.address(t.Value(), addresses)
		}
	}
	return refs
}

func (r *Refs) address(s string, seen map[Address]bool) {
	if a, err := ParseAddress(s); err == nil && !seen[a] {
		seen[a] = true
		r.Addresses = append(r.Addresses, a)
	}
}

func (r *Refs) id(s string, seen map[nostr.ID]bool) {
	if id, err := nostr.ParseID(s); err == nil && !seen[id] {
		seen[id] = true
		r.IDs = append(r.IDs, id)
	}
}

// Repositories are the repositories that the a tags of e name, all of them, without repeats and at most MaxReferences.
func Repositories(e *nostr.Event) []Address {
	var list []Address
	seen := map[Address]bool{}
	for _, t := range tags(e) {
		if len(list) == MaxReferences {
			break
		}
		if t.Name() != "a" {
			continue
		}
		if a, err := ParseAddress(t.Value()); err == nil && a.Kind == KindRepository && !seen[a] {
			seen[a] = true
			list = append(list, a)
		}
	}
	return list
}
