package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// Announcements are the newest served announcements (kind 30617) with that d, one per author, those accepted first
// first, at most
// policy.MaxAnnouncements. A new version keeps its author's place.
func (b *Batch) Announcements(d string) ([]*nostr.Event, error) { return b.reader().announcements(d) }

// EachAnnouncement calls do with the entries of the announcements (kind 30617) with that d that are stored, one per author, those
// accepted first first, until it has enough. Those that have expired are among them. A new version keeps its author's place and
// has an entry of its own.
func (b *Batch) EachAnnouncement(d string, do func(layout.Seq) (more bool, err error)) error {
	return b.reader().eachAnnouncement(d, do)
}

// Event is the event of an entry that is stored.
func (b *Batch) Event(seq layout.Seq) (*nostr.Event, error) { return b.reader().event(seq) }

// Has reports whether the event is stored and served.
func (b *Batch) Has(id nostr.ID) (bool, error) { return b.reader().has(id) }

func (r reader) has(id nostr.ID) (bool, error) {
	_, at, ok, err := r.lookup(id)
	return ok && !at.Expired(r.now), err
}

// HasBy reports whether the event is stored and served, and by this author.
func (b *Batch) HasBy(id nostr.ID, author nostr.PubKey) (bool, error) {
	e, ok, err := b.reader().get(id)
	return ok && e.PubKey == author, err
}

// HasAddress reports whether a served event stands at this address ("kind:pubkey:d").
func (b *Batch) HasAddress(address string) (bool, error) {
	return b.reader().hasAddress(address)
}

// HasAddress is as Batch.HasAddress, on this state.
func (v *View) HasAddress(address string) (bool, error) { return v.reader().hasAddress(address) }

func (r reader) hasAddress(address string) (bool, error) {
	s, ok, err := r.slot(layout.HashOf(address))
	if err != nil || !ok || s.State != layout.SlotLive {
		return false, err
	}
	return r.has(s.ID)
}

// Named reports whether some served event names this id (tags e, E, q) or this address (tags a, A, q; "" is none).
func (b *Batch) Named(id nostr.ID, address string) (bool, error) {
	return b.reader().named(id, address)
}

// HasAuthor reports whether a served event is by this author.
func (b *Batch) HasAuthor(pk nostr.PubKey) (bool, error) {
	return b.reader().any([]span{{prefix: layout.OwnPrefix(pk)}})
}

// TakesPart reports whether a served event is by this author and of a kind that makes them a participant (policy.Partakes).
func (b *Batch) TakesPart(pk nostr.PubKey) (bool, error) { return b.reader().takesPart(pk) }

func (r reader) takesPart(pk nostr.PubKey) (ok bool, err error) {
	prefix := layout.OwnPrefix(pk)
	if r.sketch.lacks(prefix) {
		return false, nil
	}
	it, err := r.r.NewIter(nil)
	if err != nil {
		return false, err
	}
	defer closeAfter(it.Close, &err)
	for valid := it.SeekGE(prefix); valid && bytes.HasPrefix(it.Key(), prefix) && len(it.Key()) >= len(prefix)+2; {
		k := nostr.Kind(binary.BigEndian.Uint16(it.Key()[len(prefix):]))
		if !policy.Partakes(k) { // all of that kind at once
			valid = it.SeekGE(layout.AuthorKindPrefix(pk, k+1))
			continue
		}
		at, err := layout.ParseRow(it.Value())
		if err != nil || !at.Expired(r.now) {
			return err == nil, err
		}
		valid = it.Next()
	}
	return false, it.Error()
}

// Known looks an id up, what this batch has done included.
func (b *Batch) Known(id nostr.ID) (Knowledge, error) { return b.reader().known(id) }

// Announcements is as Batch.Announcements, on this state.
func (v *View) Announcements(d string) ([]*nostr.Event, error) { return v.reader().announcements(d) }

func (r reader) announcements(d string) (events []*nostr.Event, err error) {
	err = r.eachAnnouncement(d, func(seq layout.Seq) (bool, error) {
		e, err := r.event(seq)
		if err != nil {
			return false, err
		}
		if at, ok := e.Expiration(); !ok || at > r.now {
			events = append(events, e)
		}
		return len(events) < policy.MaxAnnouncements, nil
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

func (r reader) eachAnnouncement(d string, do func(layout.Seq) (more bool, err error)) (err error) {
	prefix := layout.HashKey(layout.TableAnnouncement, layout.HashOf(d))
	it, err := r.r.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: layout.PrefixEnd(prefix)})
	if err != nil {
		return err
	}
	defer closeAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		v := it.Value()
		if len(v) != 8 {
			return fmt.Errorf("announcements: %w", layout.ErrCorrupt)
		}
		if more, err := do(layout.Seq(binary.BigEndian.Uint64(v))); !more || err != nil {
			return err
		}
	}
	return it.Error()
}

func (r reader) named(id nostr.ID, address string) (bool, error) {
	return r.any(naming(id, address))
}

// any reports whether one of the ranges holds an event that has not expired.
func (r reader) any(spans []span) (ok bool, err error) {
	spans = slices.DeleteFunc(spans, func(s span) bool { return r.sketch.lacks(s.prefix) })
	if len(spans) == 0 {
		return false, nil
	}
	it, err := r.r.NewIter(nil)
	if err != nil {
		return false, err
	}
	defer closeAfter(it.Close, &err)
	for _, s := range spans {
		for it.SeekGE(s.prefix); it.Valid() && bytes.HasPrefix(it.Key(), s.prefix); it.Next() {
			at, err := layout.ParseRow(it.Value())
			if err != nil {
				return false, err
			}
			if at.Cases.Meets(s.cases) && !at.Expired(r.now) {
				return true, nil
			}
		}
	}
	return false, it.Error()
}
