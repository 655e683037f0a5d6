package store

import (
	"github.com/graspd/graspd/internal/index"
	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
)

// Announcements are the newest served announcements (kind 30617) with that d, one per author, those accepted first
// first, at most policy.MaxAnnouncements. A new version keeps its author's place.
func (b *Batch) Announcements(d string) ([]*nostr.Event, error) { return b.reader().Announcements(d) }

// EachAnnouncement calls do with the entries of the announcements (kind 30617) with that d that are stored, one per author, those
// accepted first first, until it has enough. Those that have expired are among them. A new version keeps its author's place and
// has an entry of its own.
func (b *Batch) EachAnnouncement(d string, do func(layout.Seq) (more bool, err error)) error {
	return b.reader().EachAnnouncement(d, do)
}

// Event is the event of an entry that is stored.
func (b *Batch) Event(seq layout.Seq) (*nostr.Event, error) { return b.reader().Event(seq) }

// Has reports whether the event is stored and served.
func (b *Batch) Has(id nostr.ID) (bool, error) { return b.reader().Has(id) }

// HasBy reports whether the event is stored and served, and by this author.
func (b *Batch) HasBy(id nostr.ID, author nostr.PubKey) (bool, error) {
	e, ok, err := b.reader().Get(id)
	return ok && e.PubKey == author, err
}

// HasAddress reports whether a served event stands at this address ("kind:pubkey:d").
func (b *Batch) HasAddress(address string) (bool, error) {
	return b.reader().HasAddress(address)
}

// HasAddress is as Batch.HasAddress, on this state.
func (v *View) HasAddress(address string) (bool, error) { return v.Reader().HasAddress(address) }

// Named reports whether some served event names this id (tags e, E, q) or this address (tags a, A, q; "" is none).
func (b *Batch) Named(id nostr.ID, address string) (bool, error) {
	return b.reader().Named(id, address)
}

// HasAuthor reports whether a served event is by this author.
func (b *Batch) HasAuthor(pk nostr.PubKey) (bool, error) { return b.reader().HasAuthor(pk) }

// TakesPart reports whether a served event is by this author and of a kind that makes them a participant (policy.Partakes).
func (b *Batch) TakesPart(pk nostr.PubKey) (bool, error) { return b.reader().TakesPart(pk) }

// Known looks an id up, what this batch has done included.
func (b *Batch) Known(id nostr.ID) (index.Knowledge, error) { return b.reader().Known(id) }

// Announcements is as Batch.Announcements, on this state.
func (v *View) Announcements(d string) ([]*nostr.Event, error) { return v.Reader().Announcements(d) }
