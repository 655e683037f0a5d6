package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

// pair is one graspd and one relay that it begins with.
type pair struct {
	w     *sim.World
	here  *sim.Graspd
	relay *testkit.FakeRelay
}

// inPair runs a scenario in a world of its own; graspd is not started yet.
func inPair(t *testing.T, f func(t *testing.T, p *pair)) {
	t.Helper()
	bubble(t, func(t *testing.T, w *sim.World) {
		r := w.Fake("relay.example.net")
		f(t, &pair{w: w, relay: r, here: w.Graspd("here.example.org", sim.Options{
			Bootstrap: []grasp.RelayURL{r.URL}, Ping: 5 * time.Minute, // seldom, as many hours pass here
		})})
	})
}

// project is a repository of Someone(0) with issues of one comment each, which are spread over the last day.
type project struct {
	ann              *nostr.Event
	issues, comments []*nostr.Event
}

func (p *pair) project(d string, n int, relays ...grasp.RelayURL) project {
	now := p.w.Unix()
	tag := nostr.Tag{"relays", string(p.here.URL)}
	for _, u := range relays {
		tag = append(tag, string(u))
	}
	x := project{ann: testkit.Mark(testkit.Someone(0), now-90_000, nip34.KindRepository, "", nostr.Tag{"d", d}, tag)}
	for i := range n {
		at := now - 80_000 + int64(i)*70_000/int64(n)
		issue := x.issueAt(at, fmt.Sprint("issue ", i))
		x.issues = append(x.issues, issue)
		x.comments = append(x.comments, commentAt(at+5, issue))
	}
	return x
}

func (x project) all() []*nostr.Event {
	return slices.Concat([]*nostr.Event{x.ann}, x.issues, x.comments)
}

func (x project) issueAt(at int64, text string) *nostr.Event {
	return testkit.Mark(testkit.Someone(1), at, nip34.KindIssue, text, nostr.Tag{"a", x.ann.Address()})
}

func commentAt(at int64, on *nostr.Event) *nostr.Event {
	id := on.ID.String()
	return testkit.Mark(testkit.Someone(2), at, nostr.KindComment, "me too", nostr.Tag{"E", id}, nostr.Tag{"e", id})
}

// states lists how graspd stands with every relay.
func states(t *testing.T, g *sim.Graspd) []status.Relay {
	t.Helper()
	return g.Engine().Relays(t.Context())
}

// state is how graspd stands with one; zero where there is nothing between them.
func state(t *testing.T, g *sim.Graspd, u grasp.RelayURL) status.Relay {
	t.Helper()
	for _, s := range states(t, g) {
		if s.URL == u {
			return s
		}
	}
	return status.Relay{}
}

// settle waits until everything that is wanted was answered and nothing more comes to be wanted, and tells how long that took.
func settle(t *testing.T, g *sim.Graspd, patience time.Duration) time.Duration {
	t.Helper()
	begun, since := time.Now(), time.Now()
	for time.Since(begun) < patience {
		wait(time.Second)
		if slices.ContainsFunc(states(t, g), func(s status.Relay) bool { return s.Phase != status.PhaseLive && s.Phase != status.PhaseUnproven }) {
			since = time.Now()
		}
		if time.Since(since) > 12*time.Second { // what has just come is wanted after the batch window
			return since.Sub(begun)
		}
	}
	for _, s := range states(t, g) {
		t.Errorf("%s is not settled after %v: %+v", s.URL, patience, s)
	}
	return patience
}

// asks counts the requests for stored events that a relay was sent.
func asks(r *testkit.FakeRelay) int {
	n := 0
	for _, f := range r.Frames() {
		if m, err := nostr.ParseClient([]byte(f)); err == nil {
			switch m := m.(type) {
			case nostr.Req:
				if *m.Filters[0].Limit > 1 || m.Filters[0].IDs != nil {
					n++
				}
			case nostr.NegOpen:
				n++
			}
		}
	}
	return n
}
