package refs_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit/lives"
)

// version is an announcement with an id of its own.
func version(author string, n int, lists ...string) refs.Announcement {
	a := announcement(author, int64(n), "d", lists...)
	a.ID = id(fmt.Sprint("version ", n, " of ", author))
	return a
}

// TestAVersionThatComesReplacesTheOneThatWaits: nothing releases the older version, whatever makes the newer one served.
func TestAVersionThatComesReplacesTheOneThatWaits(t *testing.T) {
	alice, first := version("alice", 1, "carol"), version("carol", 1)
	rules := state("s", "alice", 5, "main=1")
	for _, tc := range []struct {
		name  string
		w     refs.Waiting
		ready string
		want  []nostr.ID
	}{
		{"an invited maintainer lists back", refs.Waiting{Served: []refs.Announcement{alice, version("carol", 2, "alice")},
			Announcements: []refs.Announcement{first}, Complete: []refs.State{rules}}, "", nil},
		{"both wait", refs.Waiting{Served: []refs.Announcement{alice}, Announcements: []refs.Announcement{version("carol", 2, "alice"), first},
			Complete: []refs.State{rules}}, "", []nostr.ID{version("carol", 2).ID}},
		{"a pull request names the repository", refs.Waiting{Served: []refs.Announcement{version("carol", 2)}, Announcements: []refs.Announcement{first},
			PullRequests: []refs.PullRequest{pullRequest("pr", 1, "1", "carol")}}, "pr", []nostr.ID{id("pr")}},
		{"what was said before counts no more", refs.Waiting{Served: []refs.Announcement{alice, version("carol", 2)},
			Announcements: []refs.Announcement{version("carol", 1, "alice")}, Complete: []refs.State{rules}}, "", nil},
		{"an older state", refs.Waiting{States: []refs.State{state("s", "alice", 5, "main=1"), state("t", "alice", 6, "main=1")}}, "s t", []nostr.ID{id("t")}},
		{"a newer state that is not ready", refs.Waiting{States: []refs.State{state("s", "alice", 5, "main=1"), state("t", "alice", 6, "main=1")}}, "s", []nostr.ID{id("s")}},
		{"a state that a served one has replaced", refs.Waiting{States: []refs.State{state("s", "alice", 5, "main=1")},
			Complete: []refs.State{state("t", "alice", 6, "main=1")}}, "s", nil},
		{"somebody else's state", refs.Waiting{States: []refs.State{state("s", "alice", 5, "main=1"), state("t", "bob", 6, "main=1")}}, "s t", []nostr.ID{id("s"), id("t")}},
	} {
		ready := func(i nostr.ID) bool {
			return slices.ContainsFunc([]string{"s", "t", "pr"}, func(n string) bool { return i == id(n) && slices.Contains([]byte(tc.ready), n[0]) })
		}
		if got := tc.w.Release(ready); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// place is what is served and what waits at addresses, as the store keeps it: one of each, and what comes replaces what is older.
type place[E any] struct {
	served, waiting map[nostr.PubKey]E
	stamp           func(E) nostr.Stamp
}

func newPlace[E any](stamp func(E) nostr.Stamp) *place[E] {
	return &place[E]{map[nostr.PubKey]E{}, map[nostr.PubKey]E{}, stamp}
}

// outdated reports whether something newer than x, or x itself, is there.
func (p *place[E]) outdated(who nostr.PubKey, x E) bool {
	for _, m := range []map[nostr.PubKey]E{p.served, p.waiting} {
		if y, ok := m[who]; ok && !p.stamp(x).Newer(p.stamp(y)) {
			return true
		}
	}
	return false
}

// serve makes x a served one. It reports false where x would replace nothing, as something newer is served.
func (p *place[E]) serve(who nostr.PubKey, x E) bool {
	if y, ok := p.served[who]; ok && !p.stamp(x).Newer(p.stamp(y)) {
		return false
	}
	p.served[who] = x
	if y, ok := p.waiting[who]; ok && !p.stamp(y).Newer(p.stamp(x)) {
		delete(p.waiting, who)
	}
	return true
}

func values[E any](m map[nostr.PubKey]E) (out []E) {
	for _, who := range people {
		if x, ok := m[key(who)]; ok {
			out = append(out, x)
		}
	}
	return out
}

// life is one identifier, with versions of announcements and states that come, are replaced, are taken back and lapse.
type life struct {
	as      *place[refs.Announcement]
	ss      *place[refs.State]
	objects map[string]bool
	of      map[nostr.ID]string // the object that each state names
}

func newLife() *life {
	return &life{
		as: newPlace(func(a refs.Announcement) nostr.Stamp { return nostr.Stamp{CreatedAt: a.CreatedAt, ID: a.ID} }),
		ss: newPlace(func(s refs.State) nostr.Stamp { return s.Stamp }), objects: map[string]bool{}, of: map[nostr.ID]string{},
	}
}

func (l *life) ready(i nostr.ID) bool { return l.objects[l.of[i]] }

// complete are the served states with their objects.
func (l *life) complete() (out []refs.State) {
	for _, s := range values(l.ss.served) {
		if l.ready(s.ID) {
			out = append(out, s)
		}
	}
	return out
}

// comes takes an announcement as the ledger does: it decides, asks what that releases, and serves.
func (l *life) comes(a refs.Announcement) error {
	if l.as.outdated(a.Author, a) {
		return nil
	}
	_, replaces := l.as.served[a.Author]
	with := append(values(l.as.served), a)
	alone := refs.Waiting{Announcements: []refs.Announcement{a}, Served: append(values(l.as.served), values(l.as.waiting)...), Complete: l.complete()}
	if !replaces && len(alone.Release(nil)) == 0 {
		l.as.waiting[a.Author] = a
		return nil
	}
	w := refs.Waiting{Served: with, Announcements: values(l.as.waiting), States: values(l.ss.waiting), Complete: l.complete()}
	l.as.serve(a.Author, a)
	return l.release(w)
}

// says takes a state as the ledger does.
func (l *life) says(s refs.State, object string) error {
	l.of[s.ID] = object
	switch {
	case l.ss.outdated(s.Author, s):
		return nil
	case !l.ready(s.ID):
		l.ss.waiting[s.Author] = s
		return nil
	}
	w := refs.Waiting{Served: values(l.as.served), Announcements: values(l.as.waiting), States: append(values(l.ss.waiting), s)}
	for _, i := range w.Release(l.ready) {
		if i == s.ID {
			l.ss.serve(s.Author, s)
		} else if err := l.serve(i); err != nil {
			return err
		}
	}
	return l.whole()
}

// pushed brings an object.
func (l *life) pushed(object string) error {
	l.objects[object] = true
	return l.release(refs.Waiting{Served: values(l.as.served), Announcements: values(l.as.waiting), States: values(l.ss.waiting), Complete: l.complete()})
}

func (l *life) release(w refs.Waiting) error {
	for _, i := range w.Release(l.ready) {
		if err := l.serve(i); err != nil {
			return err
		}
	}
	return l.whole()
}

func (l *life) serve(i nostr.ID) error {
	for who, a := range l.as.waiting {
		if a.ID == i && l.as.serve(who, a) {
			return nil
		}
	}
	for who, s := range l.ss.waiting {
		if s.ID == i && l.ss.serve(who, s) {
			return nil
		}
	}
	return fmt.Errorf("%s does not wait, and is released", i)
}

// whole asks one after the other whether it should still wait.
func (l *life) whole() error {
	for _, s := range values(l.ss.waiting) {
		if l.ready(s.ID) {
			return fmt.Errorf("a complete state waits")
		}
	}
	newest := map[nostr.PubKey]refs.Announcement{}
	for _, m := range []map[nostr.PubKey]refs.Announcement{l.as.served, l.as.waiting} {
		for who, a := range m {
			newest[who] = a
		}
	}
	all := values(newest)
	for _, a := range values(l.as.waiting) {
		for _, owner := range all {
			for _, s := range l.complete() {
				if m := councilOf(owner.Author, all...); m.Has(a.Author) && m.Has(s.Author) {
					return fmt.Errorf("an announcement waits that a state releases")
				}
			}
		}
	}
	return nil
}

// TestLivesOfVersions: people who announce one identifier say who decides, change their minds, publish states, push, take back and wait in
// vain, in any order. Only what waits at its turn is released, and nothing waits that has no reason to.
func TestLivesOfVersions(t *testing.T) {
	served := 0
	n := lives.Of(800, 4000)
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 29))
		l := newLife()
		for step := range 40 {
			who := people[r.IntN(4)]
			var err error
			switch r.IntN(8) {
			case 0, 1, 2:
				a := version(who, 1+r.IntN(12))
				for _, other := range people[:4] {
					if other != who && r.IntN(2) == 0 {
						a.Listed = append(a.Listed, key(other))
					}
				}
				err = l.comes(a)
			case 3, 4:
				at := 1 + r.IntN(12)
				err = l.says(state(fmt.Sprint("state ", at, who), who, int64(at), "main=1"), fmt.Sprint(r.IntN(4)))
			case 5:
				err = l.pushed(fmt.Sprint(r.IntN(4)))
			case 6: // its author takes it back
				delete(l.as.waiting, key(who))
				delete(l.as.served, key(who))
			case 7: // it has waited in vain
				delete(l.as.waiting, key(who))
				delete(l.ss.waiting, key(who))
			}
			if err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
		}
		served += len(l.as.served)
	}
	if served < int(n) {
		t.Errorf("only %d announcements were served", served)
	}
}
