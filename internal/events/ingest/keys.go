package ingest

import (
	"hash/maphash"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// key is the hash of one thing for which an orphan may wait. Two keys that collide cost no more than a needless decision.
type key uint64

// The kinds of keys. An accepted event may end the wait of an orphan with which it has a key in common.
const (
	namesID      = 'i' // the orphan names this event id
	namesAddress = 'a' // the orphan names this address
	hasID        = 'I' // the orphan has this id: something that names it may come
	hasAddress   = 'A' // the orphan has this address
	byAuthor     = 'p' // the orphan needs an event of this author
	withD        = 'd' // the orphan is a repository or a state with this d, and needs others of that d
)

// hasher makes keys, with a seed of its own so that no stranger can aim at collisions.
type hasher struct{ seed maphash.Seed }

func newHasher() hasher { return hasher{maphash.MakeSeed()} }

func (h hasher) key(kind byte, s string) key {
	var m maphash.Hash
	m.SetSeed(h.seed)
	m.WriteByte(kind)
	m.WriteString(s)
	return key(m.Sum64())
}

// waitsFor returns the keys of the things for which an orphan may wait.
func (h hasher) waitsFor(e *nostr.Event) []key {
	keys := []key{h.key(hasID, string(e.ID[:]))}
	if a := e.Address(); a != "" {
		keys = append(keys, h.key(hasAddress, a))
	}
	refs := nip34.References(e)
	for _, id := range refs.IDs {
		keys = append(keys, h.key(namesID, string(id[:])))
	}
	for _, a := range refs.Addresses {
		keys = append(keys, h.key(namesAddress, a.String()))
	}
	switch {
	case nip34.Is(e.Kind, nip34.Hosted):
		keys = append(keys, h.key(withD, e.Tags.D()))
	case nip34.Is(e.Kind, nip34.Personal):
		keys = append(keys, h.key(byAuthor, string(e.PubKey[:])))
	case e.Kind == nostr.KindReport:
		if of, ok := nip34.Accused(e); ok {
			keys = append(keys, h.key(byAuthor, string(of[:])))
		}
	}
	return keys
}

// ends returns the keys of orphans whose wait may end when e is accepted.
func (h hasher) ends(e *nostr.Event) []key {
	keys := []key{h.key(namesID, string(e.ID[:])), h.key(byAuthor, string(e.PubKey[:]))}
	if a := e.Address(); a != "" {
		keys = append(keys, h.key(namesAddress, a))
	}
	refs := nip34.References(e)
	for _, id := range refs.IDs {
		keys = append(keys, h.key(hasID, string(id[:])))
	}
	for _, a := range refs.Addresses {
		keys = append(keys, h.key(hasAddress, a.String()))
	}
	if e.Kind == nip34.KindRepository {
		keys = append(keys, h.key(withD, e.Tags.D()))
	}
	return keys
}
