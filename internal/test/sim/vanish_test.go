package sim_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestTwoRelaysAgreeOnWhoVanished: a request to vanish that one of two graspds is sent is at the other within seconds, and what
// came while that was away within seconds of its return, however long that was.
func TestTwoRelaysAgreeOnWhoVanished(t *testing.T) {
	bubble(t, func(t *testing.T, w *sim.World) {
		a := w.Graspd("a.example.org", sim.Options{})
		b := w.Graspd("b.example.org", sim.Options{Bootstrap: []grasp.RelayURL{a.URL}})
		a.Start()
		b.Start()
		repo := testkit.Mark(testkit.Someone(0), w.Unix()-100, nip34.KindRepository, "", nostr.Tag{"d", "proj"}, nostr.Tag{"relays", string(a.URL), string(b.URL)})
		issue := testkit.Mark(testkit.Someone(1), w.Unix()-90, nip34.KindIssue, "broken", nostr.Tag{"a", repo.Address()})
		a.Publish(repo)
		a.Publish(issue)
		var comments []*nostr.Event
		for who := range 5 {
			id := issue.ID.String()
			comments = append(comments, testkit.Mark(testkit.Someone(10+who), w.Unix()-80, nostr.KindComment, "me too", nostr.Tag{"E", id}, nostr.Tag{"e", id}))
			a.Publish(comments[who])
		}
		wait(time.Minute)
		b.WantStored(comments...)
		leaves := func(who int) *nostr.Event {
			e := testkit.Mark(testkit.Someone(10+who), w.Unix(), nostr.KindVanish, "", nostr.Tag{"relay", "ALL_RELAYS"})
			a.Publish(e)
			return e
		}
		live := leaves(0)
		wait(5 * time.Second)
		b.WantStored(live)
		b.WantAbsent(comments[0])
		for who, away := range []time.Duration{time.Minute, 2 * time.Hour} {
			b.Stop()
			wait(away / 2)
			missed := leaves(1 + who)
			wait(away / 2)
			b.Start()
			wait(30 * time.Second)
			b.WantStored(missed)
			b.WantAbsent(comments[1+who])
		}
		b.WantStored(comments[3:]...)
	})
}
