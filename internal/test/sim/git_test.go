package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

const main = "refs/heads/main"

// hosted is a repository that several graspds host, and what its owner has signed last.
type hosted struct {
	*testing.T
	w     *sim.World
	on    []*sim.Graspd
	owner nostr.PubKey
	of    nip34.Address
	tip   gitwire.ObjectID
	at    int64
	n     int
}

func host(t *testing.T, w *sim.World, owner int, d string, on ...*sim.Graspd) *hosted {
	t.Helper()
	h := &hosted{T: t, w: w, on: on, owner: testkit.Someone(owner)}
	h.of = nip34.Address{Kind: nip34.KindRepository, PubKey: h.owner, D: d}
	return h
}

// announcement names all of them.
func (h *hosted) announcement() *nostr.Event {
	clone, relays := nostr.Tag{"clone"}, nostr.Tag{"relays"}
	for _, g := range h.on {
		clone, relays = append(clone, g.CloneURL(h.of)), append(relays, string(g.URL))
	}
	return testkit.Mark(h.owner, h.w.Unix(), nip34.KindRepository, "", nostr.Tag{"d", h.of.D}, clone, relays)
}

// push signs a commit and pushes it to one of them.
func (h *hosted) push(to *sim.Graspd) {
	h.Helper()
	old := h.tip
	h.n++
	parents := []gitwire.ObjectID{old}
	if old.IsZero() {
		parents = nil
	}
	h.tip = h.w.History.Commit(fmt.Sprint(h.of.D, h.n), parents...)
	h.at = max(h.at+1, h.w.Unix())
	state := testkit.Mark(h.owner, h.at, nip34.KindState, "", nostr.Tag{"d", h.of.D}, nostr.Tag{main, h.tip.String()}, nostr.Tag{"HEAD", "ref: " + main})
	if v := to.Publish(state); !v.OK() {
		h.Fatalf("%s: %v", to.Name, v)
	}
	at := gitwire.ObjectID{}
	for _, r := range to.Refs(h.of).List {
		if r.Name == main {
			at = r.ID
		}
	}
	if wrong := to.Push(h.of, gitwire.Command{Ref: main, Old: at, New: h.tip}); wrong != "" {
		h.Fatalf("%s: %s", to.Name, wrong)
	}
}

// has reports whether one of them serves what was pushed last.
func (h *hosted) has(g *sim.Graspd) bool {
	return len(g.Refs(h.of).List) == 1 && g.Serves(h.of, gitwire.Ref{Name: main, ID: h.tip})
}

func (h *hosted) within(d time.Duration, what string, g *sim.Graspd) {
	h.Helper()
	for end := time.Now().Add(d); !h.has(g); wait(100 * time.Millisecond) {
		if time.Now().After(end) {
			h.Fatalf("%s: %s does not have it after %v: %v", what, g.Name, d, g.Refs(h.of).List)
		}
	}
}

func twoHosts(w *sim.World) (a, b *sim.Graspd) {
	a = w.Graspd("a.example.org", sim.Options{Git: true})
	b = w.Graspd("b.example.org", sim.Options{Git: true, Bootstrap: []grasp.RelayURL{a.URL}})
	a.Bootstrap = []grasp.RelayURL{b.URL}
	a.Start()
	b.Start()
	return a, b
}

// Two servers listed by one announcement: a push to either is served by the other.
func TestGitDataFollowsToTheOtherServer(t *testing.T) {
	bubble(t, func(t *testing.T, w *sim.World) {
		a, b := twoHosts(w)
		wait(time.Minute)
		h := host(t, w, 1, "proj", a, b)
		if v := a.Publish(h.announcement()); !v.OK() {
			t.Fatal(v)
		}
		h.push(a)
		h.within(2*time.Second, "the first push of a new repository", b)
		h.push(a)
		h.within(time.Second, "a push to the one", b)
		h.push(b)
		h.within(time.Second, "a push to the other", a)
		b.Stop()
		h.push(a)
		h.push(a)
		wait(time.Hour)
		b.Start()
		h.within(time.Minute, "off for an hour", b)
		b.Stop()
		b.LoseGit()
		b.Start()
		h.within(time.Minute, "its git data is lost", b)
		b.Crash()
		h.push(a)
		b.Start()
		h.within(time.Minute, "after a power cut", b)
	})
}

// What nobody pushes is looked for three minutes later, and where it is lacked everywhere until it lapses; what came later is found.
func TestGitDataThatComesLater(t *testing.T) {
	bubble(t, func(t *testing.T, w *sim.World) {
		a, b := twoHosts(w)
		wait(time.Minute)
		h := host(t, w, 1, "proj", a, b)
		for _, g := range h.on {
			if v := g.Publish(h.announcement()); !v.OK() {
				t.Fatal(v)
			}
		}
		wait(20 * time.Second)
		a.Host().Cut()
		a.Stop()
		h.tip = w.History.Commit("later")
		state := testkit.Mark(h.owner, w.Unix(), nip34.KindState, "", nostr.Tag{"d", "proj"}, nostr.Tag{main, h.tip.String()})
		if v := b.Publish(state); !v.OK() {
			t.Fatal(v)
		}
		wait(10 * time.Minute)
		b.WantAbsent(state)
		a.Start()
		wait(time.Minute)
		if v := a.Publish(state); !v.OK() {
			t.Fatal(v)
		}
		if wrong := a.Push(h.of, gitwire.Command{Ref: main, New: h.tip}); wrong != "" {
			t.Fatal(wrong)
		}
		h.within(15*time.Minute, "the other server has it", b)
		b.WantStored(state)
	})
}

// Random days of a few servers and repositories: whoever was stopped, crashed or lost everything, in the end all serve what was signed last.
func TestRandomDaysOfHosts(t *testing.T) {
	for seed := *first; seed < *first+uint64(max(1, *runs/4)); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { randomDay(t, seed) }) })
	}
}

func randomDay(t *testing.T, seed uint64) {
	w := sim.New(t, seed+1)
	defer w.End()
	r := rand.New(rand.NewPCG(seed, 7))
	var all []*sim.Graspd
	var urls []grasp.RelayURL
	for i := range 3 {
		all = append(all, w.Graspd(fmt.Sprintf("g%d.example.org", i), sim.Options{Git: true}))
		urls = append(urls, all[i].URL)
	}
	for _, g := range all {
		g.Bootstrap = urls
		g.Start()
	}
	wait(time.Minute)
	var projects []*hosted
	for i := range 4 {
		h := host(t, w, i+1, fmt.Sprint("p", i), all[i%3], all[(i+1)%3])
		if i == 3 {
			h.on = all
		}
		for _, g := range h.on {
			if v := g.Publish(h.announcement()); !v.OK() {
				t.Fatal(v)
			}
		}
		h.push(h.on[0])
		projects = append(projects, h)
	}
	for range 40 {
		g := all[r.IntN(len(all))]
		switch x := r.IntN(10); {
		case !g.Running():
			g.Start()
		case x == 0:
			g.Stop()
		case x == 1:
			g.Crash()
		case x == 2 && !lastCopy(projects, g):
			g.Stop()
			g.LoseGit()
			g.Start()
		default:
			h := projects[r.IntN(len(projects))]
			if to := h.on[r.IntN(len(h.on))]; to.Running() && h.has(to) {
				h.push(to)
			}
		}
		wait(time.Duration(r.IntN(20*60)) * time.Second)
	}
	for _, g := range all {
		if !g.Running() {
			g.Start()
		}
	}
	wait(time.Minute)
	for _, h := range projects { // it may have lapsed somewhere while its data was nowhere else
		announcement := h.announcement()
		for _, g := range h.on {
			if v := g.Publish(announcement); !v.OK() {
				t.Fatal(v)
			}
		}
	}
	wait(90 * time.Minute)
	for _, h := range projects {
		for _, g := range h.on {
			if !h.has(g) {
				t.Errorf("%s serves %v of %s, not %s", g.Name, g.Refs(h.of).List, h.of.D, h.tip)
			}
		}
	}
}

// lastCopy reports whether nobody else who runs has what was pushed last to some project.
func lastCopy(projects []*hosted, g *sim.Graspd) bool {
	return slices.ContainsFunc(projects, func(h *hosted) bool {
		return !slices.ContainsFunc(h.on, func(o *sim.Graspd) bool { return o != g && o.Running() && h.has(o) })
	})
}

// A server that failed for so long that it rests is asked in a moment once the relay which it is as well is connected again.
func TestAServerIsAskedWhenItsRelayIsBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *sim.World) {
		a, b := twoHosts(w)
		h := host(t, w, 1, "proj", a, b)
		for _, g := range h.on {
			if v := g.Publish(h.announcement()); !v.OK() {
				t.Fatal(v)
			}
		}
		wait(time.Minute)
		h.push(a)
		h.within(10*time.Second, "pushed to the one", b)
		a.Stop()
		b.Stop()
		a.LoseGit()
		a.Start()
		wait(7 * time.Hour)
		if x := a.GitSync(t.Context()); x.Lacking != 1 || x.Resting != 1 {
			t.Fatalf("%+v", x)
		}
		b.Start()
		for began := time.Now(); !a.Connected(t.Context(), b.URL); wait(time.Second) {
			if time.Since(began) > 2*time.Hour {
				t.Fatal("it never connects")
			}
		}
		h.within(10*time.Second, "connected again", a)
	})
}

// Moving: a relay fills from the old one, which it has as bootstrap, with events and git data, though announcements name that no more.
func TestABootstrapRelayBringsGitData(t *testing.T) {
	bubble(t, func(t *testing.T, w *sim.World) {
		old := w.Graspd("old.example.org", sim.Options{Git: true})
		old.Start()
		h := host(t, w, 1, "proj", old)
		fresh := w.Graspd("new.example.org", sim.Options{Git: true, Bootstrap: []grasp.RelayURL{old.URL}})
		a := h.announcement()
		if v := old.Publish(a); !v.OK() {
			t.Fatal(v)
		}
		wait(20 * time.Second)
		h.push(old)
		h.push(old)
		// On the new one the owner names only that.
		b := testkit.Mark(h.owner, h.w.Unix()+1, nip34.KindRepository, "", nostr.Tag{"d", h.of.D}, nostr.Tag{"relays", string(fresh.URL)}, nostr.Tag{"clone", fresh.CloneURL(h.of)})
		fresh.Start()
		wait(10 * time.Second)
		if v := fresh.Publish(b); !v.OK() {
			t.Fatal(v)
		}
		h.within(2*time.Minute, "moving", fresh)
		old.Stop()
		fresh.Stop()
		fresh.Start()
		wait(time.Minute)
		if !h.has(fresh) {
			t.Error("what was moved is gone without the old one")
		}
	})
}
