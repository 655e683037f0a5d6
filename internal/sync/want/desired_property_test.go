package want_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// bounds that are small enough to be reached.
var tight = want.Bounds{RelaysPerAnnouncement: 3, RepositoriesPerAuthor: 2, RelaysPerAuthor: 4, MaintainersPerRepository: 2}

// contents describes all Wants.
func contents(wants map[want.URL]*want.Want) string {
	var out []string
	for u, w := range wants {
		out = append(out, fmt.Sprint(u, ": ", wanttest.Contents(w)))
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
		bootstrap := []want.URL{want.URL(relay(1))}
		all := want.NewDesired(policy.Rules{Service: service(t)}, bootstrap, tight)
		all.SetLeastDead(3)
		late := want.NewDesired(policy.Rules{Service: service(t)}, bootstrap, tight)
		wants, lateWants, begun := map[want.URL]*want.Want{}, map[want.URL]*want.Want{}, false
		now := 0
		var lists policy.Lists
		for range s.Rand.IntN(120) {
			if seed%2 == 0 && s.Rand.IntN(15) == 0 {
				lists = s.Lists()
				all.SetLists(lists)
				late.SetLists(lists)
			}
			if !begun && s.Rand.IntN(40) == 0 {
				begun = true
				stored := slices.SortedFunc(maps.Values(s.Served), func(a, b *nostr.Event) int {
					return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), a.ID.Compare(b.ID))
				})
				if s.Rand.IntN(2) == 0 {
					s.Rand.Shuffle(len(stored), func(i, j int) { stored[i], stored[j] = stored[j], stored[i] })
				}
				for _, e := range stored {
					late.Add(e)
				}
			}
			entries := s.Happen()
			apply(all, entries)
			if begun {
				apply(late, entries)
			}
			if s.Rand.IntN(5) == 0 {
				now += s.Rand.IntN(2)
				collect(all, now, wants)
				sound(t, seed, all)
			}
			if begun && s.Rand.IntN(5) == 0 {
				collect(late, now, lateWants)
				sound(t, seed, late)
			}
		}
		scratch, scratchWants := want.NewDesired(policy.Rules{Service: service(t)}, bootstrap, tight), map[want.URL]*want.Want{}
		scratch.SetLists(lists)
		for _, e := range s.Served {
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
		d := want.NewDesired(policy.Rules{Service: service(t)}, nil, want.Bounds{})
		wants, counts := map[want.URL]*want.Want{}, map[want.URL]map[want.Item]int{}
		for now := range 20 {
			for range 1 + s.Rand.IntN(8) {
				apply(d, s.Happen())
			}
			for u, w := range d.Changed(minutes(now)) {
				if s.Rand.IntN(4) == 0 {
					continue // a peer that is busy learns the next one only
				}
				if _, ok := w.Moved(); ok {
					told++
				}
				if counts[u] == nil {
					counts[u] = map[want.Item]int{}
				}
				add, sub := want.Differ(wants[u], w)
				for _, it := range add {
					counts[u][it]++
				}
				for _, it := range sub {
					if counts[u][it]--; counts[u][it] == 0 {
						delete(counts[u], it)
					}
				}
				whole := map[want.Item]int{}
				all, _ := want.Differ(nil, w)
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
func sound(t *testing.T, seed uint64, folds ...*want.Desired) {
	t.Helper()
	for _, d := range folds {
		if err := d.Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
