package want_test

import (
	"math/rand/v2"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// TestActivityComesOutTheSame in whatever order the events are folded, as from the feed or from the store after a restart.
func TestActivityComesOutTheSame(t *testing.T) {
	var m mint
	r := rand.New(rand.NewPCG(1, 2))
	announced := m.Announce(key(0), "x", 1, []string{us, string(here)})
	all := []*nostr.Event{announced}
	var roots []*nostr.Event
	for i := range 600 {
		e := m.Issue(int64(i)*1000, address(key(0), "x"))
		roots, all = append(roots, e), append(all, e)
	}
	want := map[nostr.ID]int64{}
	for _, e := range roots {
		want[e.ID] = e.CreatedAt
	}
	for range 2000 {
		root, at := roots[r.IntN(len(roots))].ID, int64(r.IntN(2_000_000))
		kind := []nostr.Kind{nostr.KindComment, nostr.KindComment, nip34.KindPatch, nostr.KindDeletion}[r.IntN(4)]
		name := []string{"e", "E", "q", "p"}[r.IntN(4)]
		e := m.Event(kind, key(5), at, nostr.Tag{"a", address(key(1), "nobody's")}, nostr.Tag{name, root.String()}, nostr.Tag{"e", "no id"})
		all = append(all, e)
		if kind != nostr.KindDeletion && name != "p" {
			want[root] = max(want[root], at-at%3600)
		}
	}
	for order := range 4 {
		f := newFold(t)
		switch order {
		case 0: // as from the feed, a few at a time
			for i, e := range all {
				if f.AddAll(e); i%50 == 0 {
					f.Step()
				}
			}
		case 1: // at once
			f.AddAll(all...)
		case 2: // root events first, all else newest first, and all of that twice
			f.AddAll(all[:601]...)
			for _, i := range r.Perm(len(all)) {
				f.AddAll(all[i])
			}
		default: // names are made anew in between
			for i, e := range all {
				if f.AddAll(e); i%100 == 0 {
					f.Step()
					f.SweepNames()
				}
			}
		}
		f.Step()
		got := wanttest.Ranks(f.Wants[here])
		if len(got) != len(want) {
			t.Fatalf("%d root events, not %d", len(got), len(want))
		}
		for id, at := range want {
			if got[id] != at {
				t.Fatalf("order %d: a root event ranks at %d, not %d", order, got[id], at)
			}
		}
		if err := f.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestActivityIsTheRelaysThatAreAskedForIt: no other gets a Want for it, and none twice within an hour or for what is older.
func TestActivityIsTheRelaysThatAreAskedForIt(t *testing.T) {
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, relay(1), relay(2)}), f.Announce(key(1), "y", 1, []string{us, relay(3)}))
	root := f.Issue(10_000, address(key(0), "x"))
	f.AddAll(root).Step()
	said := func(at int64, ids ...nostr.ID) int {
		e := f.Event(nostr.KindComment, key(5), at)
		for _, id := range ids {
			e.Tags = append(e.Tags, nostr.Tag{"e", id.String()})
		}
		f.AddAll(e)
		changed := f.Step()
		for _, u := range changed {
			if u == want.URL(relay(3)) {
				t.Errorf("at %d: who is not concerned gets a Want", at)
			}
			if n, told := f.Wants[u].Moved(); !told || n != 0 || f.Wants[u].Moves() {
				t.Errorf("at %d: the Want is told to be another", at)
			}
		}
		return len(changed)
	}
	other := nostr.ID{1, 2, 3}
	var others []nostr.ID
	for range 16 {
		others = append(others, other)
	}
	for i, c := range []struct {
		at   int64
		ids  []nostr.ID
		want int
	}{
		{9_000, []nostr.ID{root.ID}, 0},
		{10_500, []nostr.ID{root.ID}, 0}, // in the hour in which it was made
		{50_000, []nostr.ID{root.ID}, 2},
		{50_100, []nostr.ID{root.ID}, 0},
		{40_000, []nostr.ID{root.ID}, 0},
		{54_000, []nostr.ID{other}, 0},
		{54_000, append(others, root.ID), 0}, // too many names
		{54_000, append(others[1:], root.ID), 2},
	} {
		if got := said(c.at, c.ids...); got != c.want {
			t.Errorf("%d: %d relays get a Want, not %d", i, got, c.want)
		}
	}
	kept := f.Wants[want.URL(relay(1))]
	if said(80_000, root.ID) != 2 || wanttest.Ranks(kept)[root.ID] != 54_000 {
		t.Errorf("a Want that was handed out ranks it at %d now", wanttest.Ranks(kept)[root.ID])
	}
	f.AddAll(f.Event(nostr.KindComment, key(5), 100_000, nostr.Tag{"e", root.ID.String()}))
	f.Remove(root.ID)
	heir := f.Issue(70_000, address(key(0), "x")) // in its place
	f.AddAll(heir).Step()
	if at := wanttest.Ranks(f.Wants[want.URL(relay(1))])[heir.ID]; at != 70_000 {
		t.Errorf("what was said of one that is gone has another rank at %d", at)
	}
	if got := said(90_000, root.ID); got != 0 {
		t.Error("a root event that is gone is talked about")
	}
}

// TestOldActivityIsNotKeptForRelaysThatRest: what a Want keeps of it is bounded, as every relay gets a new one in the end.
func TestOldActivityIsNotKeptForRelaysThatRest(t *testing.T) {
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, relay(1)}), f.Announce(key(1), "y", 1, []string{us, relay(3)}))
	root := f.Issue(10_000, address(key(0), "x"))
	f.AddAll(root).Step()
	for n := range 1000 {
		f.AddAll(f.Event(nostr.KindComment, key(5), int64(n+10)*3600, nostr.Tag{"e", root.ID.String()}))
		if len(f.Step()) == 2 {
			return
		}
	}
	t.Error("a relay that is not concerned keeps its Want for ever")
}

// TestActivityIsSmall, also when everything is talked about.
func TestActivityIsSmall(t *testing.T) {
	const n = 100_000
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, string(here)}))
	var roots []*nostr.Event
	for i := range n {
		roots = append(roots, f.Issue(int64(i+1)*86_400, address(key(0), "x")))
	}
	f.AddAll(roots...).Step()
	f.Step()
	before := allocated()
	for i, e := range roots {
		f.AddAll(f.Event(nostr.KindComment, key(5), int64(n)*86_400, nostr.Tag{"e", e.ID.String()}))
		if i%5000 == 0 {
			f.Step()
		}
	}
	f.Step()
	if after := allocated(); after > before+1<<20 {
		t.Errorf("%d kB for %d root events", (after-before)>>10, n)
	}
	if got := wanttest.Ranks(f.Wants[here])[roots[0].ID]; got != n*86_400 {
		t.Errorf("it ranks at %d", got)
	}
}
