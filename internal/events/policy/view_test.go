package policy_test

import (
	"slices"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// memory is a View over the events that it holds: what a store would serve, without any of its rules but replacement.
type memory struct{ events []*nostr.Event }

// add serves e, in place of what stood at its address.
func (m *memory) add(events ...*nostr.Event) {
	for _, e := range events {
		at := slices.IndexFunc(m.events, func(old *nostr.Event) bool {
			return old.ID == e.ID || e.Address() != "" && old.Address() == e.Address()
		})
		switch {
		case at < 0:
			m.events = append(m.events, e)
		case e.Stamp().Newer(m.events[at].Stamp()):
			m.events[at] = e
		}
	}
}

func (m *memory) Announcements(d string, r policy.Rules) (*policy.Announced, error) {
	var list []*nostr.Event
	for _, e := range m.events {
		if e.Kind == nip34.KindRepository && e.Tags.D() == d && len(list) < policy.MaxAnnouncements {
			list = append(list, e)
		}
	}
	return r.Gather(list), nil
}

func (m *memory) any(match func(*nostr.Event) bool) (bool, error) {
	return slices.ContainsFunc(m.events, match), nil
}

func (m *memory) Has(id nostr.ID) (bool, error) {
	return m.any(func(e *nostr.Event) bool { return e.ID == id })
}

func (m *memory) HasBy(id nostr.ID, author nostr.PubKey) (bool, error) {
	return m.any(func(e *nostr.Event) bool { return e.ID == id && e.PubKey == author })
}

func (m *memory) HasAddress(address string) (bool, error) {
	return m.any(func(e *nostr.Event) bool { return e.Address() == address })
}

func (m *memory) HasAuthor(pk nostr.PubKey) (bool, error) {
	return m.any(func(e *nostr.Event) bool { return e.PubKey == pk })
}

func (m *memory) TakesPart(pk nostr.PubKey) (bool, error) {
	return m.any(func(e *nostr.Event) bool { return e.PubKey == pk && policy.Partakes(e.Kind) })
}

func (m *memory) Named(id nostr.ID, address string) (bool, error) {
	return m.any(func(e *nostr.Event) bool {
		return slices.ContainsFunc(e.Tags, func(t nostr.Tag) bool {
			switch t.Name() {
			case "e", "E":
				return t.Value() == id.String()
			case "a", "A":
				return address != "" && t.Value() == address
			case "q":
				return t.Value() == id.String() || address != "" && t.Value() == address
			}
			return false
		})
	})
}
