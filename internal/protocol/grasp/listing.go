package grasp

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Listing says whom an announcement makes maintainers, and whether its author declines to be one elsewhere.
type Listing struct {
	Author    nostr.PubKey
	ID        nostr.ID
	CreatedAt int64          // seconds since 1970
	Listed    []nostr.PubKey // the maintainers that it names beside its author, at most MaxMaintainers
	Declines  bool           // its author wants no part in other people's repositories with this d tag
}

// ListingOf reads a. Role tags go before the maintainers tag, key by key.
func ListingOf(a *nip34.Announcement) Listing {
	l := Listing{Author: a.Address.PubKey, ID: a.ID, CreatedAt: a.CreatedAt, Declines: declines(a)}
	told := map[nostr.PubKey]bool{l.Author: true} // keys about which a later tag decides nothing
	tell := func(pk nostr.PubKey, maintains bool) {
		if !told[pk] && maintains && len(l.Listed) < MaxMaintainers {
			l.Listed = append(l.Listed, pk)
		}
		told[pk] = true
	}
	for _, r := range a.Roles {
		if r.Maintains() {
			tell(r.PubKey, true)
		}
	}
	for _, r := range a.Roles {
		tell(r.PubKey, false)
	}
	for _, pk := range a.Maintainers {
		if len(l.Listed) == MaxMaintainers {
			break
		}
		tell(pk, true)
	}
	l.Listed = slices.Clip(l.Listed)
	return l
}

// Stamp returns the Stamp of the announcement, which orders the announcements of one author.
func (l *Listing) Stamp() nostr.Stamp { return nostr.Stamp{CreatedAt: l.CreatedAt, ID: l.ID} }

// declines reports whether the author of a wants no part in other people's repositories with this d tag.
func declines(a *nip34.Announcement) bool {
	own := func(r nip34.Role) bool { return r.PubKey == a.Address.PubKey }
	active := func(r nip34.Role) bool { return own(r) && r.Maintains() }
	return a.Fork || slices.ContainsFunc(a.Roles, own) && !slices.ContainsFunc(a.Roles, active)
}
