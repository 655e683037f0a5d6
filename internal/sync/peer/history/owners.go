package history

import (
	"maps"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// Owners are those who named a relay while it was dead; nil while it is not. They
// are never changed once they are shared.
type Owners map[nostr.PubKey]struct{}

// MostOwners bounds what is remembered of one relay; past it nobody counts as new.
const MostOwners = 1000

// add returns o with the owners of w, and whether any of them is new.
func (o Owners) add(w *want.Want) (Owners, bool) {
	all := make(Owners, len(o))
	maps.Copy(all, o)
	for _, r := range w.Repos {
		if len(all) < MostOwners {
			all[r.Owner] = struct{}{}
		}
	}
	return all, len(all) > len(o)
}
