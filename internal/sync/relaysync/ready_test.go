package relaysync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// readyAfter asks every few seconds until the engine is ready; everything must be here by then.
func (w *world) readyAfter(most time.Duration, wanted ...*nostr.Event) time.Duration {
	w.t.Helper()
	for begun := time.Now(); ; {
		if len(w.engine.CaughtUp(w.t.Context(), 0)) == 0 {
			w.wantStored(wanted...)
			return time.Since(begun)
		}
		if time.Since(begun) >= most {
			return most
		}
		wait(5 * time.Second)
	}
}

func TestReadyWhenTheBootstrapRelaysAreThrough(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL, otherURL, ours)
		boot, other := w.net.Relay(bootURL), w.net.Relay(otherURL)
		boot.Neg, boot.PageCap = testkit.NegErr, 20
		p := newProject("proj", 60, otherURL, "wss://nowhere.example.net")
		boot.Store(p.all()...)
		other.RefuseDial.Store(true)
		w.start()
		defer w.stop()
		if got := w.readyAfter(time.Hour); got != time.Hour {
			t.Fatalf("ready after %v, without one of its bootstrap relays", got)
		}
		if waiting := w.engine.CaughtUp(t.Context(), 0); !slices.Equal(waiting, []grasp.RelayURL{otherURL}) {
			t.Errorf("waits for %v", waiting)
		}
		other.RefuseDial.Store(false)
		if got := w.readyAfter(2*time.Hour, p.all()...); got == 2*time.Hour {
			t.Error("never ready")
		}
		other.RefuseDial.Store(true)
		other.Drop()
		wait(time.Minute)
		if len(w.engine.CaughtUp(t.Context(), 0)) > 0 {
			t.Error("ready no more")
		}
	})
}

// What the announcements of a bootstrap relay make wanted belongs to the first catch-up.
func TestReadyMeansAllLayers(t *testing.T) {
	for _, neg := range []testkit.NegMode{testkit.NegWorks, testkit.NegErr} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, bootURL)
			boot := w.net.Relay(bootURL)
			boot.Neg = neg
			p := newProject("proj", 5)
			boot.Store(p.all()...)
			w.start()
			defer w.stop()
			if got := w.readyAfter(time.Hour, p.all()...); got == 0 || got > 5*time.Second {
				t.Errorf("ready after %v", got)
			}
		})
	}
}

// Clients who never pause, and relays that name ever more, do not put it off.
func TestReadyInSpiteOfTraffic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 5)
		boot.Store(p.all()...)
		w.start()
		defer w.stop()
		w.publish(p.ann)
		for i := range 60 {
			if len(w.engine.CaughtUp(t.Context(), 0)) == 0 {
				return
			}
			e := p.later(fmt.Sprint("busy ", i))
			w.publish(e)
			boot.Add(p.later(fmt.Sprint("busy there ", i)))
			wait(time.Second)
		}
		t.Error("not ready after a minute")
	})
}

func TestReadyWithoutBootstrapRelays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.adjust = func(c *relaysync.Config) { c.StartupDelay = time.Hour }
		w.start()
		defer w.stop()
		begun := time.Now()
		if len(w.engine.CaughtUp(t.Context(), 0)) > 0 {
			t.Error("not ready")
		}
		if s := w.engine.Relays(t.Context()); s != nil || time.Since(begun) > 0 {
			t.Errorf("after %v: %+v", time.Since(begun), s)
		}
	})
}

// A bootstrap relay that is dead, or this relay under another name, or that keeps something to itself, is not waited for.
func TestReadyWithoutBootstrapRelaysThatAreOfNoUse(t *testing.T) {
	for name, c := range map[string]struct {
		habit       func(*testkit.FakeRelay)
		least, most time.Duration
	}{
		"dead":       {func(r *testkit.FakeRelay) { r.RefuseDial.Store(true) }, 23 * time.Hour, 26 * time.Hour},
		"ourself":    {func(r *testkit.FakeRelay) { r.Info = &nip11.Document{Self: testkit.Key(999).PubKey().String()} }, 0, time.Minute},
		"restricted": {func(r *testkit.FakeRelay) { r.Refuse = refuseRoots }, 0, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, bootURL)
				boot := w.net.Relay(bootURL)
				boot.Store(newProject("proj", 3).all()...)
				boot.Neg = testkit.NegErr
				c.habit(boot)
				w.start()
				defer w.stop()
				if got := w.readyAfter(48 * time.Hour); got < c.least || got > c.most {
					t.Errorf("ready after %v", got)
				}
			})
		})
	}
}

// refuseRoots keeps what refers to root events for others.
func refuseRoots(sub string, filters []nostr.Filter) string {
	for _, f := range filters {
		if !strings.HasPrefix(sub, "l") && len(f.Tags) > 0 && f.Tags[0].Name == 'E' {
			return string(nostr.AppendClosed(nil, sub, "restricted: not for you"))
		}
	}
	return ""
}

// Nobody is kept waiting by an engine that has ended.
func TestAskedAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		w.net.Relay(bootURL).RefuseDial.Store(true)
		w.start()
		wait(time.Minute)
		w.stop()
		if s := w.engine.Relays(t.Context()); s != nil {
			t.Errorf("%+v", s)
		}
		if waiting := w.engine.CaughtUp(t.Context(), 0); len(waiting) != 1 {
			t.Errorf("waits for %v", waiting)
		}
	})
}

// A further round is through when the relays have answered what became wanted since the one before, and no earlier.
func TestAFurtherRound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		one, two := newProject("one", 3), newProject("two", 3)
		boot.Store(append(one.all(), two.all()[1:]...)...)
		w.start()
		defer w.stop()
		w.readyAfter(time.Hour, one.all()...)
		w.wantAbsent(two.issues...)
		w.publish(two.ann)
		for begun := time.Now(); len(w.engine.CaughtUp(t.Context(), 1)) > 0; wait(100 * time.Millisecond) {
			if time.Since(begun) > time.Hour {
				t.Fatal("never through")
			}
		}
		w.wantStored(two.all()...)
		boot.RefuseDial.Store(true)
		boot.Drop()
		wait(time.Second)
		if len(w.engine.CaughtUp(t.Context(), 1)) > 0 || len(w.engine.CaughtUp(t.Context(), 2)) == 0 {
			t.Error("a round is taken back, or through without the relay")
		}
	})
}
