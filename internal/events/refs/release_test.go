package refs_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// released are names of what is released, in order.
func released(w refs.Waiting, ready ...string) string {
	names := map[nostr.ID]string{}
	for _, a := range w.Announcements {
		names[a.ID] = "announcement"
		for _, who := range []string{"alice", "bob", "carol", "dave"} {
			if a.Author == key(who) {
				names[a.ID] = "of-" + who + strings.TrimPrefix(a.D, "d")
			}
		}
	}
	ids := map[nostr.ID]bool{}
	for _, r := range ready {
		ids[id(r)], names[id(r)] = true, r
	}
	var out []string
	for _, i := range w.Release(func(i nostr.ID) bool { return ids[i] }) {
		out = append(out, names[i])
	}
	return strings.Join(out, " ")
}

func TestRelease(t *testing.T) {
	type w = refs.Waiting
	as := func(list ...refs.Announcement) []refs.Announcement { return list }
	ss := func(list ...refs.State) []refs.State { return list }
	ps := func(list ...refs.PullRequest) []refs.PullRequest { return list }
	s := func(name, author string, at int64) refs.State { return state(name, author, at, "main=1") }
	flawed := s("s", "alice", 5)
	flawed.Flaw = "impossible"
	elsewhere := s("s", "alice", 5)
	elsewhere.D = "de"
	update := func(name, of string, at int64, owners ...string) refs.PullRequest {
		p := pullRequest(name, at, "1", owners...)
		p.Updates = id(of)
		return p
	}
	through := update("u", "pr", 1, "alice")
	through.Through = id("pr")
	alone, both := announcement("alice", 1, "d"), announcement("alice", 1, "d", "bob")
	back := announcement("bob", 2, "d", "alice")
	low, high := "tie0", "tie1"
	if id(low).Compare(id(high)) > 0 {
		low, high = high, low
	}
	for _, tc := range []struct {
		name  string
		w     refs.Waiting
		ready string
		want  string
	}{
		{"nothing", w{Announcements: as(alone), States: ss(s("s", "alice", 5)), PullRequests: ps(pullRequest("pr", 1, "1", "alice"))}, "", ""},
		{"first push", w{Announcements: as(alone), States: ss(s("s", "alice", 5))}, "s", "of-alice s"},
		{"served already", w{States: ss(s("s", "alice", 5)), Served: as(alone)}, "s", "s"},
		{"the other is not ready", w{Announcements: as(alone), States: ss(s("s", "alice", 5), s("t", "bob", 6))}, "s", "of-alice s"},
		{"flawed", w{Announcements: as(alone), States: ss(flawed)}, "s", ""},
		{"another identifier", w{Announcements: as(alone, announcement("alice", 1, "de")), States: ss(elsewhere)}, "s", "of-alicee s"},
		{"every repository that it rules", w{Announcements: as(back, both), States: ss(s("s", "alice", 5))}, "s", "of-alice of-bob s"},
		{"somebody invited", w{Announcements: as(both, announcement("bob", 2, "d")), States: ss(s("s", "bob", 5))}, "s", "of-bob s"},
		{"somebody who invites", w{Announcements: as(alone, back), States: ss(s("s", "alice", 5))}, "s", "of-alice s"},
		{"who waits, for who is served", w{Announcements: as(back), Served: as(both), States: ss(s("s", "alice", 5))}, "s", "of-bob s"},
		{"pull request", w{Announcements: as(alone, announcement("bob", 2, "d"), announcement("carol", 3, "d")), PullRequests: ps(pullRequest("pr", 1, "1", "carol", "alice"))}, "pr", "of-alice of-carol pr"},
		{"pull request without a tip", w{Announcements: as(alone), PullRequests: ps(pullRequest("pr", 1, "", "alice"))}, "pr", ""},
		{"all", w{Announcements: as(alone), States: ss(s("s", "alice", 5)), PullRequests: ps(update("u", "pr", 1, "alice"), pullRequest("pr", 9, "1", "alice"))},
			"u pr s", "of-alice s pr u"},
		{"update before its pull request", w{PullRequests: ps(update("u", "pr", 1, "alice"), pullRequest("pr", 9, "1", "alice"))}, "u", "u"},
		{"update that hangs on its pull request", w{PullRequests: ps(through, pullRequest("pr", 9, "1", "alice"))}, "u", ""},
		{"with its pull request", w{PullRequests: ps(through, pullRequest("pr", 9, "1", "alice"))}, "u pr", "pr u"},
		{"its pull request is served", w{PullRequests: ps(through)}, "u", "u"},
		{"by time", w{States: ss(s("a", "alice", 7), s("b", "bob", 5), s("c", "carol", 6))}, "a b c", "b c a"},
		{"of one second", w{States: ss(s(low, "alice", 5), s(high, "bob", 5))}, low + " " + high, high + " " + low},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := released(tc.w, strings.Fields(tc.ready)...); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// Dave decides for alice because carol lists him, though he does not for carol. Her announcement waits: without it nobody
// could tell why dave's state rules alice's repository.
func TestReleaseOfTheLinkBetween(t *testing.T) {
	alice, bob := announcement("alice", 1, "d", "bob", "carol"), announcement("bob", 1, "d", "alice")
	carol, dave := announcement("carol", 1, "d", "bob", "dave"), announcement("dave", 1, "d", "alice")
	if !council("alice", alice, bob, carol, dave).Has(key("dave")) || council("carol", alice, bob, carol, dave).Has(key("dave")) ||
		council("alice", alice, bob, dave).Has(key("dave")) {
		t.Fatal("another case")
	}
	s := state("s", "dave", 5, "main=1")
	w := refs.Waiting{Served: []refs.Announcement{alice, bob, dave}, Announcements: []refs.Announcement{carol}, States: []refs.State{s}}
	if got := released(w, "s"); got != "of-carol s" {
		t.Errorf("%q", got)
	}
}

// An announcement comes that makes the author of a served state a maintainer: what waited for such a state waits no more.
func TestReleaseByAnAnnouncement(t *testing.T) {
	alice, bob := announcement("alice", 1, "d", "bob"), announcement("bob", 1, "d")
	s := state("s", "bob", 5, "main=1")
	w := refs.Waiting{Served: []refs.Announcement{bob}, Announcements: []refs.Announcement{alice}, Complete: []refs.State{s}}
	if got := released(w); got != "" {
		t.Errorf("bob lists nobody: %q", got)
	}
	w.Served = []refs.Announcement{announcement("bob", 2, "d", "alice")}
	if got := released(w); got != "of-alice" {
		t.Errorf("bob lists alice: %q", got)
	}
	w.Complete[0].Flaw = "impossible"
	if got := released(w); got != "" {
		t.Errorf("by a flawed state: %q", got)
	}
}

var people = []string{"alice", "bob", "carol", "dave", "erin"}

// randomAnnouncement lists some of the people.
func randomAnnouncement(r *rand.Rand, author string) refs.Announcement {
	a := announcement(author, int64(r.IntN(4)), "d")
	for _, other := range people {
		if other != author && r.IntN(3) == 0 {
			a.Listed = append(a.Listed, key(other))
		}
	}
	a.Declines = r.IntN(8) == 0
	return a
}

// What is released is what the rules name one by one, each after what it depends on.
func TestReleaseLikeANaiveModel(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 8))
		var w refs.Waiting
		for _, who := range people {
			switch a := randomAnnouncement(r, who); r.IntN(3) {
			case 0:
				w.Served = append(w.Served, a)
			case 1:
				w.Announcements = append(w.Announcements, a)
			}
		}
		ready := map[nostr.ID]bool{}
		for i, n := 0, r.IntN(3); i < n; i++ {
			s := state(fmt.Sprint("s", i), people[r.IntN(5)], int64(r.IntN(4)), "main=1")
			w.States = append(w.States, s)
			ready[s.ID] = r.IntN(2) == 0
		}
		if r.IntN(3) == 0 {
			w.Complete = append(w.Complete, state("complete", people[r.IntN(5)], 1, "main=1"))
		}
		for i, n := 0, r.IntN(4); i < n; i++ {
			p := pullRequest(fmt.Sprint("p", i), int64(r.IntN(4)), "1", people[r.IntN(5)])
			if i > 0 && r.IntN(2) == 0 {
				p.Updates = id("p0")
				if r.IntN(2) == 0 {
					p.Through = id("p0")
				}
			}
			w.PullRequests = append(w.PullRequests, p)
			ready[p.ID] = r.IntN(3) > 0
		}
		got := w.Release(func(i nostr.ID) bool { return ready[i] })
		want := naiveRelease(w, ready)
		if sorted := slices.SortedFunc(slices.Values(got), nostr.ID.Compare); !slices.Equal(sorted, want) {
			t.Fatalf("seed %d: released %v, want %v", seed, sorted, want)
		}
		wantTopological(t, seed, w, got)
		other := w
		other.Announcements, other.States, other.PullRequests = slices.Clone(w.Announcements), slices.Clone(w.States), slices.Clone(w.PullRequests)
		slices.Reverse(other.Announcements)
		slices.Reverse(other.States)
		slices.Reverse(other.PullRequests)
		if again := other.Release(func(i nostr.ID) bool { return ready[i] }); !slices.Equal(again, got) {
			t.Fatalf("seed %d: in another order of arrival %v, was %v", seed, again, got)
		}
	}
}

// naiveRelease asks for every announcement by itself, and gives sorted ids.
func naiveRelease(w refs.Waiting, ready map[nostr.ID]bool) (ids []nostr.ID) {
	out, waits := map[nostr.ID]bool{}, map[nostr.ID]bool{}
	complete := slices.Clone(w.Complete)
	for _, s := range w.States {
		if ready[s.ID] {
			complete = append(complete, s)
		}
	}
	for _, s := range w.States {
		replaced := slices.ContainsFunc(complete, func(x refs.State) bool { return x.Author == s.Author && x.Newer(s.Stamp) })
		out[s.ID] = ready[s.ID] && !replaced
	}
	for _, p := range w.PullRequests {
		waits[p.ID] = true
	}
	for _, p := range w.PullRequests {
		if ready[p.ID] && (p.Through == nostr.ID{} || ready[p.Through] || !waits[p.Through]) {
			out[p.ID] = true
		}
	}
	all := slices.Concat(w.Served, w.Announcements)
	for _, a := range w.Announcements {
		for _, owner := range all {
			m := councilOf(owner.Author, all...)
			for _, s := range complete {
				if m.Has(a.Author) && m.Has(s.Author) {
					out[a.ID] = true
				}
			}
		}
		for _, p := range w.PullRequests {
			if out[p.ID] && p.Names(nip34.Address{Kind: nip34.KindRepository, PubKey: a.Author, D: a.D}) {
				out[a.ID] = true
			}
		}
	}
	for i, ok := range out {
		if ok {
			ids = append(ids, i)
		}
	}
	slices.SortFunc(ids, nostr.ID.Compare)
	return ids
}

// wantTopological requires that nothing comes before what it depends on.
func wantTopological(t *testing.T, seed uint64, w refs.Waiting, got []nostr.ID) {
	t.Helper()
	rank := map[nostr.ID]int{}
	for _, a := range w.Announcements {
		rank[a.ID] = 0
	}
	for _, s := range w.States {
		rank[s.ID] = 1
	}
	for _, p := range w.PullRequests {
		rank[p.ID] = 2
		if p.Updates != (nostr.ID{}) {
			rank[p.ID] = 3
		}
	}
	if !slices.IsSortedFunc(got, func(a, b nostr.ID) int { return rank[a] - rank[b] }) {
		t.Fatalf("seed %d: not in the order of dependence: %v", seed, got)
	}
}
