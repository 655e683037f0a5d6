package store

import (
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// lookups are the questions about single events that View and Batch both answer: a View of its durable state, a Batch with what was put
// into the batch. Events are shared: nobody changes them.
type lookups struct {
	of interface{ reads() index.Reader }
}

// Get returns the stored event with that id, unless it has expired.
func (l lookups) Get(id nostr.ID) (*nostr.Event, bool, error) { return l.of.reads().Get(id) }

// At returns the event that is served at an address ("kind:pubkey:d"), if there is one.
func (l lookups) At(address string) (*nostr.Event, bool, error) { return l.of.reads().At(address) }

// Known says what the store knows of an id. An id that is not Unknown belongs to an event that was verified once.
func (l lookups) Known(id nostr.ID) (index.Knowledge, error) { return l.of.reads().Known(id) }

// Event returns the event of an entry that is stored.
func (l lookups) Event(seq layout.Seq) (*nostr.Event, error) { return l.of.reads().Event(seq) }

// Has reports whether the event is stored and served.
func (l lookups) Has(id nostr.ID) (bool, error) { return l.of.reads().Has(id) }

// HasBy reports whether the event is stored and served, and is by this author.
func (l lookups) HasBy(id nostr.ID, author nostr.PubKey) (bool, error) {
	e, ok, err := l.of.reads().Get(id)
	return ok && e.PubKey == author, err
}

// HasAddress reports whether a served event stands at this address ("kind:pubkey:d").
func (l lookups) HasAddress(address string) (bool, error) { return l.of.reads().HasAddress(address) }

// HasAuthor reports whether a served event is by this author.
func (l lookups) HasAuthor(pk nostr.PubKey) (bool, error) { return l.of.reads().HasAuthor(pk) }

// TakesPart reports whether a served event is by this author and of a kind that makes them a participant (policy.Partakes).
func (l lookups) TakesPart(pk nostr.PubKey) (bool, error) { return l.of.reads().TakesPart(pk) }

// Named reports whether a served event names this id (tags e, E, q) or this address (tags a, A, q). "" is no address.
func (l lookups) Named(id nostr.ID, address string) (bool, error) {
	return l.of.reads().Named(id, address)
}

// Announcements returns the newest served announcements (kind 30617) with that d, one per author, in the order in which the authors' first
// ones came, at most policy.MaxAnnouncements.
func (l lookups) Announcements(d string) ([]*nostr.Event, error) {
	return l.of.reads().Announcements(d)
}

// EachAnnouncement calls do with the entries of the stored announcements (kind 30617) with that d, one per author, until do returns false
// for more. The announcements come in the order in which the authors' first ones came; expired ones are among them. A new version keeps its
// author's place and has an entry of its own.
func (l lookups) EachAnnouncement(d string, do func(layout.Seq) (more bool, err error)) error {
	return l.of.reads().EachAnnouncement(d, do)
}

// Waiting returns the event that waits under that id. The Event is nil where no event waits.
func (l lookups) Waiting(id nostr.ID) (layout.Waiting, error) { return l.of.reads().Waiting(id) }

// WaitingAt returns the stamp of the version that waits at an address ("kind:pubkey:d"), if there is one.
func (l lookups) WaitingAt(address string) (nostr.Stamp, bool, error) {
	return l.of.reads().WaitSlot(layout.HashOf(address))
}

// Newest returns the stamp of the newest version that was ever stored at an address ("kind:pubkey:d"), whether it is still here or not.
func (l lookups) Newest(address string) (nostr.Stamp, bool, error) {
	s, ok, err := l.of.reads().Slot(layout.HashOf(address))
	return s.Stamp(), ok, err
}

// Row returns a copy of the value of a row, nil where there is no such row.
func (l lookups) Row(name string) ([]byte, error) { return l.of.reads().NamedRow(name) }
