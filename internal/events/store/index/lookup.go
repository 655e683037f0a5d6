package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// HasAuthor reports whether there is a served event by the author.
func (r Reader) HasAuthor(pk nostr.PubKey) (bool, error) {
	return r.any([]keyRange{{prefix: layout.OwnPrefix(pk)}})
}

// TakesPart reports whether there is a served event by the author of a kind that makes them a participant (policy.Partakes).
func (r Reader) TakesPart(pk nostr.PubKey) (ok bool, err error) {
	prefix := layout.OwnPrefix(pk)
	if r.Sketch.Lacks(prefix) {
		return false, nil
	}
	it, err := r.From.NewIter(nil)
	if err != nil {
		return false, err
	}
	defer CloseAfter(it.Close, &err)
	for valid := it.SeekGE(prefix); valid && bytes.HasPrefix(it.Key(), prefix) && len(it.Key()) >= len(prefix)+2; {
		k := nostr.Kind(binary.BigEndian.Uint16(it.Key()[len(prefix):]))
		if !policy.Partakes(k) { // skips all events of that kind at once
			valid = it.SeekGE(layout.AuthorKindPrefix(pk, k+1))
			continue
		}
		at, err := layout.ParseRow(it.Value())
		if err != nil || !at.Expired(r.Now) {
			return err == nil, err
		}
		valid = it.Next()
	}
	return false, it.Error()
}

// Announcements returns the newest served announcements (kind 30617) with that d, one for each author, in the order in which they were first
// accepted, at most policy.MaxAnnouncements.
func (r Reader) Announcements(d string) (events []*nostr.Event, err error) {
	err = r.EachAnnouncement(d, func(seq layout.Seq) (bool, error) {
		e, err := r.Event(seq)
		if err != nil {
			return false, err
		}
		if at, ok := e.Expiration(); !ok || at > r.Now {
			events = append(events, e)
		}
		return len(events) < policy.MaxAnnouncements, nil
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// EachAnnouncement calls do with the entries of the stored announcements with that d, in the order in which they were first accepted, until do
// has enough. Expired ones are among them.
func (r Reader) EachAnnouncement(d string, do func(layout.Seq) (more bool, err error)) (err error) {
	prefix := layout.HashKey(layout.TableAnnouncement, layout.HashOf(d))
	it, err := r.From.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: layout.PrefixEnd(prefix)})
	if err != nil {
		return err
	}
	defer CloseAfter(it.Close, &err)
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

// Named reports whether a served event names the id (tags e, E, q) or the address (tags a, A, q; "" is none).
func (r Reader) Named(id nostr.ID, address string) (bool, error) {
	return r.any(naming(id, address))
}

// any reports whether one of the ranges has an event that has not expired.
func (r Reader) any(spans []keyRange) (ok bool, err error) {
	spans = slices.DeleteFunc(spans, func(s keyRange) bool { return r.Sketch.Lacks(s.prefix) })
	if len(spans) == 0 {
		return false, nil
	}
	it, err := r.From.NewIter(nil)
	if err != nil {
		return false, err
	}
	defer CloseAfter(it.Close, &err)
	for _, s := range spans {
		for it.SeekGE(s.prefix); it.Valid() && bytes.HasPrefix(it.Key(), s.prefix); it.Next() {
			at, err := layout.ParseRow(it.Value())
			if err != nil {
				return false, err
			}
			if at.Cases.Meets(s.cases) && !at.Expired(r.Now) {
				return true, nil
			}
		}
	}
	return false, it.Error()
}
