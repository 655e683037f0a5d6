package relaysync_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// slow takes a while for every signature, which is genuine.
type slow struct{ time.Duration }

func (s slow) Verify(nostr.PubKey, nostr.ID, nostr.Sig) bool {
	time.Sleep(s.Duration)
	return true
}

// However many relays a stranger names, all that they bring has one turn at the verifiers: another's relay waits for it as
// for one. When somebody else names one of them too, that one has turns of its own.
func TestRelaysOfOneStrangerHaveOneTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.doorway = ingest.Config{Workers: 1, Verifier: slow{5 * time.Millisecond}}
		w.start()
		defer w.stop()
		stranger, owner, author := testkit.Key(5), testkit.Key(1), testkit.Key(6)
		var theirs []*testkit.FakeRelay
		names := []string{ours}
		for i := range 12 {
			r := w.net.Relay(grasp.RelayURL(fmt.Sprintf("wss://stranger-%02d.example.com", i)))
			theirs, names = append(theirs, r), append(names, string(r.URL))
		}
		honest := w.net.Relay(otherURL)
		w.publish(testkit.Announcement(stranger, time.Now().Unix(), "spam", names...))
		w.publish(testkit.Announcement(owner, time.Now().Unix(), "good", ours, otherURL))
		wait(5 * time.Minute)
		flood := func(round int, through *testkit.FakeRelay) time.Duration {
			var floods sync.WaitGroup
			now := time.Now()
			for i, r := range theirs {
				floods.Go(func() {
					for n := range 30 {
						r.Add(testkit.Mark(author.PubKey(), now.Unix(), 1621, fmt.Sprint(round, i, n), nostr.Tag{"a", testkit.RepositoryAddress(stranger, "spam")}))
					}
				})
			}
			wait(100 * time.Millisecond)
			start := time.Now()
			var last *nostr.Event
			for n := range 10 {
				last = testkit.Mark(author.PubKey(), now.Unix(), 1621, fmt.Sprint(round, "honest", n), nostr.Tag{"a", testkit.RepositoryAddress(owner, "good")})
				through.Add(last)
			}
			for !w.has(last) {
				wait(10 * time.Millisecond)
			}
			took := time.Since(start)
			floods.Wait()
			wait(2 * time.Minute)
			return took
		}
		if took := flood(1, honest); took > 350*time.Millisecond {
			t.Errorf("ten events of another's relay took %v", took)
		}
		w.publish(testkit.Announcement(owner, time.Now().Unix(), "good", ours, otherURL, string(theirs[0].URL)))
		wait(5 * time.Minute)
		if took := flood(2, honest); took > 400*time.Millisecond {
			t.Errorf("beside two of them, ten events of another's relay took %v", took)
		}
		for _, s := range w.engine.Relays(t.Context()) {
			if s.Failures != 0 || s.Phase != "live" {
				t.Errorf("%s: %+v", s.URL, s)
			}
		}
	})
}
