package policy

import "github.com/graspd/graspd/internal/nostr"

// View is what the decision needs to know of the store: events that are served, and nothing of those that are only
// remembered. One goroutine at a time calls it. It shows what was accepted just before. Its errors are those of the disk, and end the
// decision.
type View interface {
	// Announcements gives the served announcements (kind 30617) with that d tag, the newest of each author, as these rules read them: at
	// most MaxAnnouncements, those of the authors whose first version was accepted first.
	Announcements(d string, r Rules) (*Announced, error)
	// Has reports whether an event with this id is served.
	Has(id nostr.ID) (bool, error)
	// HasBy reports whether an event with this id by this author is served.
	HasBy(id nostr.ID, author nostr.PubKey) (bool, error)
	// HasAddress reports whether an event is served at this address, written as nip34.Address.String does.
	HasAddress(address string) (bool, error)
	// Named reports whether a served event names this id in a tag e, E or q, or this address in a tag a, A or q. The
	// address is "" for an event that has none.
	Named(id nostr.ID, address string) (bool, error)
	// HasAuthor reports whether an event of this author is served.
	HasAuthor(pk nostr.PubKey) (bool, error)
	// TakesPart reports whether an event of this author is served whose kind is one of Partakes.
	TakesPart(pk nostr.PubKey) (bool, error)
}

// MaxAnnouncements is how many announcements with one d tag a View gives at most.
const MaxAnnouncements = 1000
