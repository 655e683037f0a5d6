package unsolicited

import (
	"hash/maphash"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Forged remembers the ids under which one relay has sent events that are forged or cannot be read. Nothing of that says anything about the
// rest of what the relay has, so graspd does not ask this relay for them again, and goes on with it. Other relays may have the genuine event of
// such an id. The zero Forged remembers nothing.
type Forged struct{ ids map[uint64]struct{} }

// MostForged is how many ids are remembered of one relay. A relay that stores for others has fewer; one that sends more forges them.
const MostForged = 25_000

// Note remembers an id. It returns false where there is no room for it.
func (f *Forged) Note(id nostr.ID) bool {
	if f.Has(id) {
		return true
	}
	if len(f.ids) >= MostForged {
		return false
	}
	if f.ids == nil {
		f.ids = make(map[uint64]struct{})
	}
	f.ids[hashOf(id)] = struct{}{}
	return true
}

// Has reports whether an id is remembered. That an id counts as another by chance costs one event of one relay.
func (f *Forged) Has(id nostr.ID) bool {
	_, has := f.ids[hashOf(id)]
	return has
}

func hashOf(id nostr.ID) uint64 { return maphash.Bytes(seed, id[:]) }
