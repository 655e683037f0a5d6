package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestDeletionsOfWhatNeverCame: two graspds beside a relay that serves every deletion for ever. Each month's are served for a month by both,
// old ones by none, nothing is fetched again once it has gone, and what deletions name is kept away whoever brings it.
func TestDeletionsOfWhatNeverCame(t *testing.T) {
	if testing.Short() {
		t.Skip("its world is large")
	}
	bubble(t, func(t *testing.T, w *sim.World) {
		relay := w.Fake("relay.example.net")
		a := w.Graspd("a.example.org", sim.Options{Ping: 10 * time.Minute, Bootstrap: []grasp.RelayURL{relay.URL}})
		b := w.Graspd("b.example.org", sim.Options{Ping: 10 * time.Minute, Bootstrap: []grasp.RelayURL{relay.URL}})
		ann := announce(w, 1, "tool", a.URL, b.URL, relay.URL)
		relay.Store(ann)
		const month = 30 * 24 * time.Hour
		var young, old, targets []*nostr.Event
		for who := range 3 {
			issue := testkit.Mark(testkit.Someone(who+2), w.Unix(), 1621, "an issue", nostr.Tag{"a", ann.Address()})
			relay.Store(issue)
			for i := range 30 {
				ago := int64(i) * 3600
				if i%2 == 1 {
					ago += int64((month + 10*24*time.Hour) / time.Second)
				}
				target := testkit.Mark(issue.PubKey, w.Unix()-ago-99, 1621, fmt.Sprint("never here ", i), nostr.Tag{"a", ann.Address()})
				del := testkit.Mark(issue.PubKey, w.Unix()-ago, nostr.KindDeletion, "", nostr.Tag{"e", target.ID.String()}, nostr.Tag{"k", "1621"})
				relay.Store(del)
				targets = append(targets, target)
				if i%2 == 0 {
					young = append(young, del)
				} else {
					old = append(old, del)
				}
			}
		}
		both := []*sim.Graspd{a, b}
		for _, g := range both {
			g.Start()
		}
		wait(50 * time.Hour) // deletions by authors come with the full resync
		for _, g := range both {
			g.WantStored(young...)
			g.WantAbsent(old...)
		}
		sent := relay.Sent()
		wait(49 * time.Hour)
		if n := relay.Sent() - sent; n != 0 {
			t.Errorf("%d events were fetched again while some are served", n)
		}
		wait(month)
		for _, g := range both {
			g.WantAbsent(young...)
			g.WantAbsent(old...)
		}
		a.Stop()
		a.Start()
		b.Crash()
		b.Start()
		wait(2 * 24 * time.Hour)
		sent = relay.Sent()
		wait(49 * time.Hour)
		if n := relay.Sent() - sent; n != 0 {
			t.Errorf("%d events were fetched again once none is served", n)
		}
		for _, e := range targets {
			relay.Add(e)
		}
		wait(time.Minute)
		for _, g := range both {
			g.WantAbsent(targets...)
			v := g.Store().View()
			for _, e := range targets {
				if k, err := v.Known(e.ID); err != nil || k.State != store.Remembered || k.Why != policy.Deleted {
					t.Fatalf("%s knows what was deleted as %v, %v", g.Name, k, err)
				}
			}
			v.Close()
		}
		late := testkit.Mark(testkit.Someone(2), w.Unix()-40*24*3600, nostr.KindDeletion, "", nostr.Tag{"e", young[0].ID.String()})
		if v := a.Publish(late); !v.OK() {
			t.Errorf("a client's, which is old: %v", v)
		}
		a.WantAbsent(late)
		synctest.Wait()
		if !slices.Contains(a.Gone(), late.ID) {
			t.Error("nobody hears that a deletion was here that was old when it came")
		}
	})
}
