package wanttest

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// Entry is one entry of the store's feed.
type Entry struct {
	Added   *nostr.Event
	Removed nostr.ID
}

// Shop is a store in small: what is served, by address and id, and its feed.
type Shop struct {
	Mint
	Rand   *rand.Rand
	Served map[nostr.ID]*nostr.Event
	newest map[string]*nostr.Event // announcements by address
	clock  int64
}

// NewShop is empty; what happens follows from the seed.
func NewShop(seed uint64) *Shop {
	return &Shop{Rand: rand.New(rand.NewPCG(seed, 3)), Served: map[nostr.ID]*nostr.Event{}, newest: map[string]*nostr.Event{}}
}

// Happen makes one thing happen and returns the feed entries of it, in either order.
func (s *Shop) Happen() []Entry {
	s.clock++
	switch p := s.Rand.IntN(10); {
	case p < 4:
		return s.publishRoot()
	case p < 8:
		return s.publishAnnouncement()
	}
	ids := slices.SortedFunc(maps.Keys(s.Served), nostr.ID.Compare)
	if len(ids) == 0 {
		return nil
	}
	return []Entry{s.take(ids[s.Rand.IntN(len(ids))])}
}

func (s *Shop) take(id nostr.ID) Entry {
	e := s.Served[id]
	delete(s.Served, id)
	if a := e.Address(); a != "" {
		delete(s.newest, a)
	}
	return Entry{Removed: id}
}

func (s *Shop) publishRoot() []Entry {
	var at []string
	for range 1 + s.Rand.IntN(3) {
		at = append(at, Address(Key(s.Rand.IntN(6)), Identifier(s.Rand.IntN(3))))
	}
	e := s.Issue(s.clock, at...)
	s.Served[e.ID] = e
	return []Entry{{Added: e}}
}

func (s *Shop) publishAnnouncement() []Entry {
	var relays []string
	if s.Rand.IntN(3) > 0 {
		relays = append(relays, Us)
	}
	for range s.Rand.IntN(4) {
		relays = append(relays, Relay(s.Rand.IntN(5)))
	}
	var maintainers []nostr.PubKey
	for range s.Rand.IntN(4) {
		maintainers = append(maintainers, Key(s.Rand.IntN(6)))
	}
	e := s.Announce(Key(s.Rand.IntN(6)), Identifier(s.Rand.IntN(3)), s.clock, relays, maintainers...)
	if s.Rand.IntN(6) == 0 {
		e.Tags = append(e.Tags, nostr.Tag{"u", "30617:x"})
	}
	out := []Entry{{Added: e}}
	if old := s.newest[e.Address()]; old != nil {
		out = append(out, s.take(old.ID))
		if s.Rand.IntN(2) == 0 {
			slices.Reverse(out)
		}
	}
	s.newest[e.Address()], s.Served[e.ID] = e, e
	return out
}

// Lists are some of those that an operator may have.
func (s *Shop) Lists() (l policy.Lists) {
	for range s.Rand.IntN(4) {
		pk, d := Key(s.Rand.IntN(6)), Identifier(s.Rand.IntN(3))
		_ = []func() error{
			func() error { return l.DenyPubKeys.AddAuthor(pk.String()) },
			func() error { return l.DenyRepositories.AddRepository(Address(pk, d)) },
			func() error { return l.AllowRepositories.AddRepository(pk.String()) },
			func() error { return l.AllowRepositories.AddRepository(Address(pk, d)) },
		}[s.Rand.IntN(4)]()
	}
	return l
}

// Apply has a fold follow the feed.
func Apply(d *want.Desired, entries []Entry) {
	for _, x := range entries {
		if x.Added != nil {
			d.Add(x.Added)
		} else {
			d.Remove(x.Removed)
		}
	}
}
