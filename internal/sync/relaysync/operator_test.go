package relaysync_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// What the operator has tried again is tried at once: a relay in backoff, and a
// dead one that holds no slot because others have use for them.
func TestTheOperatorHasARelayTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.adjust = func(c *relaysync.Config) { c.MaxRelays = 1 }
		dead, well := w.net.Relay(otherURL), w.net.Relay("wss://well.example.net")
		dead.RefuseDial.Store(true)
		w.start()
		defer w.stop()
		now := time.Now().Unix()
		w.publish(testkit.Announcement(testkit.Key(1), now, "proj", ours, otherURL))
		wait(30 * time.Hour)
		if s, _ := w.status(otherURL); s.Health != status.Dead {
			t.Fatalf("it is not dead: %+v", s)
		}
		before := dead.Dials()
		dead.RefuseDial.Store(false)
		if err := w.engine.Retry(t.Context(), otherURL); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		if s, _ := w.status(otherURL); !s.Connected || dead.Dials() != before+1 {
			t.Fatalf("%d dials more, %+v", dead.Dials()-before, s)
		}

		dead.RefuseDial.Store(true)
		dead.Drop()
		w.publish(testkit.Announcement(testkit.Key(2), now, "more", ours, string(well.URL)))
		wait(30 * time.Hour)
		if _, ok := w.status(otherURL); ok {
			t.Fatal("a dead relay keeps the only slot")
		}
		if err := w.engine.Retry(t.Context(), otherURL); !errors.Is(err, relaysync.ErrNoSlot) {
			t.Errorf("while the slot is in firm use: %v", err)
		}
		if err := w.engine.Retry(t.Context(), "wss://nobody.example.net"); !errors.Is(err, relaysync.ErrNotWanted) {
			t.Errorf("a relay that nothing names: %v", err)
		}
		well.RefuseDial.Store(true)
		well.Drop()
		wait(10 * time.Minute) // the other one is in backoff now
		before = dead.Dials()
		if err := w.engine.Retry(t.Context(), otherURL); err != nil {
			t.Error(err)
		}
		wait(time.Second)
		if n := dead.Dials() - before; n != 1 {
			t.Errorf("dialed %d times", n)
		}
	})
}

// Nothing is tried before the engine runs or after it has ended.
func TestRetryWithoutAnEngine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.stop()
		for range 2 {
			if err := w.engine.Retry(context.Background(), otherURL); !errors.Is(err, relaysync.ErrNotRunning) {
				t.Error(err)
			}
		}
		if err := relaysync.New(relaysync.Config{Service: service(t)}).Retry(t.Context(), otherURL); !errors.Is(err, relaysync.ErrNotRunning) {
			t.Error(err)
		}
	})
}

func TestDetailsOfARelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		other := w.net.Relay(otherURL)
		now := time.Now().Unix()
		repo := testkit.Announcement(testkit.Key(1), now-1000, "proj", ours, otherURL)
		other.Add(repo, testkit.Issue(testkit.Key(2), now-900, repo.Address(), "a"))
		w.start()
		defer w.stop()
		w.publish(repo)
		w.settle()
		got := w.engine.Details(t.Context())
		d, ok := got[grasp.RelayURL(otherURL)]
		if !ok || len(got) != 1 || len(d.Parts) != 1 || len(d.Gaps) != 0 {
			t.Fatalf("%+v", got)
		}
		if p := d.Parts[0]; p.Address != repo.Address() || p.Roots != 1 || !p.Complete() {
			t.Errorf("%+v", p)
		}
	})
}
