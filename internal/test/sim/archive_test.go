package sim_test

import (
	"fmt"
	"math/rand/v2"
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

// What lists another relay alone is mirrored with its git data, and nobody pushes to the mirror, be that relay a bootstrap relay as well or not.
func TestAnArchiveOfARelay(t *testing.T) {
	for _, bootstrap := range []bool{false, true} {
		t.Run(fmt.Sprint(bootstrap), func(t *testing.T) { anArchive(t, bootstrap) })
	}
}

func anArchive(t *testing.T, bootstrap bool) {
	bubble(t, func(t *testing.T, w *sim.World) {
		a := w.Graspd("a.example.org", sim.Options{Git: true})
		m := w.Graspd("mirror.example.org", sim.Options{Git: true, Archive: []string{string(a.URL)}})
		if bootstrap {
			m.Bootstrap = []grasp.RelayURL{a.URL}
		}
		a.Start()
		m.Start()
		h := host(t, w, 1, "proj", a)
		if v := a.Publish(h.announcement()); !v.OK() {
			t.Fatal(v)
		}
		h.push(a)
		h.within(time.Minute, "announced and pushed elsewhere", m)
		issue := testkit.Mark(testkit.Someone(2), w.Unix(), nip34.KindIssue, "broken", nostr.Tag{"a", h.of.String()})
		if v := a.Publish(issue); !v.OK() {
			t.Fatal(v)
		}
		wait(10 * time.Second)
		m.WantStored(issue)
		h.push(a)
		h.within(10*time.Second, "pushed again", m)
		if wrong := m.Push(h.of, gitwire.Command{Ref: main, Old: h.tip, New: w.History.Commit("more", h.tip)}); wrong == "" {
			t.Error("somebody pushes to a mirror")
		}
	})
}

// Two archives of one graspd have all that it has at the end of a month in which each of the three stops, crashes and loses its data. Where
// few worlds are lived, it is twelve days.
func TestTwoArchivesForAMonth(t *testing.T) {
	if testing.Short() {
		t.Skip("its world is large")
	}
	days := 30
	if *runs < 20 {
		days = 12
	}
	for seed := *first; seed < *first+uint64(max(1, *runs/40)); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { archivedDays(t, seed, days) }) })
	}
}

func archivedDays(t *testing.T, seed uint64, days int) {
	w := sim.New(t, seed)
	defer w.End()
	r := rand.New(rand.NewPCG(seed, 19))
	a := w.Graspd("a.example.org", sim.Options{Git: true, Ping: 10 * time.Minute})
	mirror := w.Graspd("mirror.example.org", sim.Options{Git: true, Ping: 10 * time.Minute, Archive: []string{string(a.URL)}})
	all := w.Graspd("all.example.org", sim.Options{Git: true, Ping: 10 * time.Minute, Archive: []string{"all"}, Bootstrap: []grasp.RelayURL{a.URL}})
	three := []*sim.Graspd{a, mirror, all}
	for _, g := range three {
		g.Start()
	}
	var projects []*hosted
	var events []*nostr.Event
	for day := range days {
		switch {
		case !a.Running():
		case day%6 == 0:
			h := host(t, w, day, fmt.Sprint("p", day), a)
			if v := a.Publish(h.announcement()); !v.OK() {
				t.Fatal(v)
			}
			projects = append(projects, h)
			h.push(a)
		default:
			h := projects[r.IntN(len(projects))]
			h.push(a)
			issue := testkit.Mark(testkit.Someone(100+day), w.Unix(), nip34.KindIssue, fmt.Sprint(day), nostr.Tag{"a", h.of.String()})
			if v := a.Publish(issue); !v.OK() {
				t.Fatal(v)
			}
			events = append(events, issue)
		}
		wait(time.Duration(r.IntN(20)) * time.Hour)
		g := three[r.IntN(3)]
		switch x := r.IntN(4); {
		case x == 0:
			g.Crash()
		case x == 1:
			g.Stop()
			if g != a {
				g.LoseGit()
			}
		case x == 2:
			g.Stop()
		}
		wait(time.Duration(r.IntN(4)) * time.Hour)
		for _, g := range three {
			if !g.Running() {
				g.Start()
			}
		}
	}
	wait(3 * time.Hour)
	for _, g := range three {
		for _, h := range projects {
			h.within(time.Minute, "at the end", g)
		}
		g.WantStored(events...)
	}
	if len(projects) < days/10 || len(events) < days/3 {
		t.Errorf("%d repositories and %d issues", len(projects), len(events))
	}
	for _, g := range []*sim.Graspd{mirror, all} {
		for id := range a.Served() {
			if g.Served()[id] == nil {
				t.Errorf("%s lacks %s", g.Name, id)
			}
		}
	}
}
