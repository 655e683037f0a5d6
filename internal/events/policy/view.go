package policy

import "github.com/graspd/graspd/internal/protocol/nostr"

// View shows the served events to a decision, also those accepted just before, and none that the store only remembers. One goroutine at a
// time calls a View. Its errors come from the disk, and end the decision.
type View interface {
	// Announcements returns the served announcements (kind 30617) with that d tag, the newest of each author, as the rules r read them. It
	// returns at most MaxAnnouncements, for the authors whose first version was accepted first.
	Announcements(d string, r Rules) (*Announced, error)
	// Has reports whether an event with this id is served.
	Has(id nostr.ID) (bool, error)
	// HasBy reports whether an event with this id by this author is served.
	HasBy(id nostr.ID, author nostr.PubKey) (bool, error)
	// HasAddress reports whether an event is served at this address, in the form of nip34.Address.String.
	HasAddress(address string) (bool, error)
	// Named reports whether a served event names this id in a tag e, E or q, or this address in a tag a, A or q. The
	// address is "" for an event without an address.
	Named(id nostr.ID, address string) (bool, error)
	// HasAuthor reports whether an event of this author is served.
	HasAuthor(pk nostr.PubKey) (bool, error)
	// TakesPart reports whether an event of this author is served for whose kind Partakes is true.
	TakesPart(pk nostr.PubKey) (bool, error)
}

// MaxAnnouncements is how many announcements with one d tag a View returns at most.
const MaxAnnouncements = 1000
