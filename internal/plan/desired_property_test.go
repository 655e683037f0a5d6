package plan_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"graspd/internal/nostr"
	"graspd/internal/plan"
	"graspd/internal/policy"
)

// feedEntry is one entry of the store's feed.
type feedEntry struct {
	added   *nostr.Event
	removed nostr.ID
}

// shop is a store in small: what is served, by address and id, and its feed.
type shop struct {
	mint
	r      *rand.Rand
	served map[nostr.ID]*nostr.Event
	newest map[string]*nostr.Event // announcements by address
	clock  int64
}

func newShop(seed uint64) *shop {
	return &shop{r: rand.New(rand.NewPCG(seed, 3)), served: map[nostr.ID]*nostr.Event{}, newest: map[string]*nostr.Event{}}
}

// happen makes one thing happen and returns the feed entries of it, in either order.
func (s *shop) happen() []feedEntry {
	s.clock++
	switch p := s.r.IntN(10); {
	case p < 4:
		return s.publishRoot()
	case p < 8:
		return s.publishAnnouncement()
	}
	ids := slices.SortedFunc(maps.Keys(s.served), nostr.ID.Compare)
	if len(ids) == 0 {
		return nil
	}
	return []feedEntry{s.take(ids[s.r.IntN(len(ids))])}
}

func (s *shop) take(id nostr.ID) feedEntry {
	e := s.served[id]
	delete(s.served, id)
	if a := e.Address(); a != "" {
		delete(s.newest, a)
	}
	return feedEntry{removed: id}
}

func (s *shop) publishRoot() []feedEntry {
	var at []string
	for range 1 + s.r.IntN(3) {
		at = append(at, address(key(s.r.IntN(6)), identifier(s.r.IntN(3))))
	}
	e := s.issue(s.clock, at...)
	s.served[e.ID] = e
	return []feedEntry{{added: e}}
}

func (s *shop) publishAnnouncement() []feedEntry {
	var relays []string
	if s.r.IntN(3) > 0 {
		relays = append(relays, us)
	}
	for range s.r.IntN(4) {
		relays = append(relays, relay(s.r.IntN(5)))
	}
	var maintainers []nostr.PubKey
	for range s.r.IntN(4) {
		maintainers = append(maintainers, key(s.r.IntN(6)))
	}
	e := s.announce(key(s.r.IntN(6)), identifier(s.r.IntN(3)), s.clock, relays, maintainers...)
	if s.r.IntN(6) == 0 {
		e.Tags = append(e.Tags, nostr.Tag{"u", "30617:x"})
	}
	out := []feedEntry{{added: e}}
	if old := s.newest[e.Address()]; old != nil {
		out = append(out, s.take(old.ID))
		if s.r.IntN(2) == 0 {
			slices.Reverse(out)
		}
	}
	s.newest[e.Address()], s.served[e.ID] = e, e
	return out
}

// lists are some of those that an operator may have.
func (s *shop) lists() (l policy.Lists) {
	for range s.r.IntN(4) {
		pk, d := key(s.r.IntN(6)), identifier(s.r.IntN(3))
		_ = []func() error{
			func() error { return l.DenyPubKeys.AddAuthor(pk.String()) },
			func() error { return l.DenyRepositories.AddRepository(address(pk, d)) },
			func() error { return l.AllowRepositories.AddRepository(pk.String()) },
			func() error { return l.AllowRepositories.AddRepository(address(pk, d)) },
		}[s.r.IntN(4)]()
	}
	return l
}

// bounds that are small enough to be reached.
var tight = plan.Bounds{RelaysPerAnnouncement: 3, RepositoriesPerAuthor: 2, RelaysPerAuthor: 4, MaintainersPerRepository: 2}

func apply(d *plan.Desired, entries []feedEntry) {
	for _, x := range entries {
		if x.added != nil {
			d.Add(x.added)
		} else {
			d.Remove(x.removed)
		}
	}
}

// contents describes all Wants.
func contents(wants map[plan.URL]*plan.Want) string {
	var out []string
	for u, w := range wants {
		out = append(out, fmt.Sprint(u, ": ", w.Contents()))
	}
	slices.Sort(out)
	return fmt.Sprint(out)
}

// Whatever way it came to be, Desired asks for the same: folding the feed from
// the start with Wants handed out in between, or what was stored at some moment,
// newest first or in any order, and then the feed from there; with lists that
// were so all the time, or change.
func TestDesiredFoldIsOneAndTheSame(t *testing.T) {
	for seed := range uint64(300) {
		s := newShop(seed)
		bootstrap := []plan.URL{plan.URL(relay(1))}
		all := plan.NewDesired(service(t), bootstrap, tight)
		all.SetLeastDead(3)
		late := plan.NewDesired(service(t), bootstrap, tight)
		wants, lateWants, begun := map[plan.URL]*plan.Want{}, map[plan.URL]*plan.Want{}, false
		now := 0
		var lists policy.Lists
		for range s.r.IntN(120) {
			if seed%2 == 0 && s.r.IntN(15) == 0 {
				lists = s.lists()
				all.SetLists(lists)
				late.SetLists(lists)
			}
			if !begun && s.r.IntN(40) == 0 {
				begun = true
				stored := slices.SortedFunc(maps.Values(s.served), func(a, b *nostr.Event) int {
					return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), a.ID.Compare(b.ID))
				})
				if s.r.IntN(2) == 0 {
					s.r.Shuffle(len(stored), func(i, j int) { stored[i], stored[j] = stored[j], stored[i] })
				}
				for _, e := range stored {
					late.Add(e)
				}
			}
			entries := s.happen()
			apply(all, entries)
			if begun {
				apply(late, entries)
			}
			if s.r.IntN(5) == 0 {
				now += s.r.IntN(2)
				collect(all, now, wants)
				sound(t, seed, all)
			}
			if begun && s.r.IntN(5) == 0 {
				collect(late, now, lateWants)
				sound(t, seed, late)
			}
		}
		scratch, scratchWants := plan.NewDesired(service(t), bootstrap, tight), map[plan.URL]*plan.Want{}
		scratch.SetLists(lists)
		for _, e := range s.served {
			scratch.Add(e)
			if !begun {
				late.Add(e)
			}
		}
		now += 2
		collect(all, now, wants)
		collect(late, now, lateWants)
		collect(scratch, now, scratchWants)
		sound(t, seed, all, late, scratch)
		want := contents(scratchWants)
		if got := contents(wants); got != want {
			t.Fatalf("seed %d: followed from the start\n%s\nnot\n%s", seed, got, want)
		}
		if got := contents(lateWants); got != want {
			t.Fatalf("seed %d: stored, then followed\n%s\nnot\n%s", seed, got, want)
		}
		if rest := collect(all, now, wants); len(rest) > 0 {
			t.Fatalf("seed %d: nothing happened, but Wants for %v", seed, rest)
		}
	}
}

// A Peer learns a new Want from what it does not share with the former one: the
// differences must add up.
func TestDiffAddsUp(t *testing.T) {
	told := 0
	for seed := range uint64(100) {
		s := newShop(seed)
		d := plan.NewDesired(service(t), nil, plan.Bounds{})
		wants, counts := map[plan.URL]*plan.Want{}, map[plan.URL]map[plan.Item]int{}
		for now := range 20 {
			for range 1 + s.r.IntN(8) {
				apply(d, s.happen())
			}
			for u, w := range d.Changed(minutes(now)) {
				if s.r.IntN(4) == 0 {
					continue // a peer that is busy learns the next one only
				}
				if _, ok := w.Moved(); ok {
					told++
				}
				if counts[u] == nil {
					counts[u] = map[plan.Item]int{}
				}
				add, sub := plan.Differ(wants[u], w)
				for _, it := range add {
					counts[u][it]++
				}
				for _, it := range sub {
					if counts[u][it]--; counts[u][it] == 0 {
						delete(counts[u], it)
					}
				}
				whole := map[plan.Item]int{}
				all, _ := plan.Differ(nil, w)
				for _, it := range all {
					whole[it]++
				}
				if !maps.Equal(whole, counts[u]) {
					t.Fatalf("seed %d: differences give %v, the whole is %v", seed, counts[u], whole)
				}
				wants[u] = w
			}
		}
	}
	if told < 100 {
		t.Errorf("%d Wants tell what moved", told)
	}
}

// sound checks that folds remember no more than what lives.
func sound(t *testing.T, seed uint64, folds ...*plan.Desired) {
	t.Helper()
	for _, d := range folds {
		if err := d.Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
