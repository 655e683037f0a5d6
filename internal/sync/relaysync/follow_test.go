package relaysync_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestACatchUpDoesNotWaitForWindows: what a relay's answers make wanted is asked as soon as it has answered, through all
// layers, without the time in which changes are gathered.
func TestACatchUpDoesNotWaitForWindows(t *testing.T) {
	for _, neg := range []testkit.NegMode{testkit.NegWorks, testkit.NegErr} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, bootURL)
			boot := w.net.Relay(bootURL)
			boot.Neg = neg
			p := newProject("proj", 5)
			boot.Store(p.all()...)
			w.start()
			defer w.stop()
			wait(time.Second)
			w.wantStored(p.all()...)
		})
	}
}

// TestAWindowEndsWithAllThatWasBrought: an engine that lags behind reads all that the relay has brought before it hands out
// what is wanted, so that each layer is asked for in one go.
func TestAWindowEndsWithAllThatWasBrought(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		w.prepare = func(e *relaysync.Engine) { e.ReadLess(1) }
		boot := w.net.Relay(bootURL)
		var all []*nostr.Event
		for i := range 20 {
			all = append(all, newProject(fmt.Sprint("proj", i), 1).all()...)
		}
		boot.Store(all...)
		w.start()
		defer w.stop()
		release := w.engine.Hold()
		wait(time.Second) // the announcements are here
		release()
		wait(time.Second)
		w.wantStored(all...)
		if n := liveREQs(boot); n > 3 {
			t.Errorf("%d live REQs for three layers", n)
		}
	})
}

// TestLiveChangesAreGathered: with changes all the time, a relay that answers at once is not asked anew after each.
func TestLiveChangesAreGathered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, boot, p := settledWorld(t, 1)
		defer w.stop()
		wait(time.Minute)
		before := liveREQs(boot)
		for i := range 300 {
			boot.Add(p.later(fmt.Sprint("issue ", i)))
			wait(200 * time.Millisecond)
		}
		wait(10 * time.Second)
		if n := liveREQs(boot) - before; n < 10 || n > 20 {
			t.Errorf("%d live REQs within a minute of 300 changes", n)
		}
	})
}

// TestTheFirstChangeAfterARestIsAskedForSoon: what changes nothing that is wanted is no reason to wait, what does is.
func TestTheFirstChangeAfterARestIsAskedForSoon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, boot, p := settledWorld(t, 1)
		defer w.stop()
		wait(time.Minute)
		asked := func(after time.Duration) int {
			before := liveREQs(boot)
			boot.Add(p.later(time.Now().String()))
			wait(after)
			return liveREQs(boot) - before
		}
		if n := asked(time.Second); n != 1 {
			t.Errorf("%d live REQs within a second of the first change after a minute, want 1", n)
		}
		if n := asked(4 * time.Second); n != 0 {
			t.Errorf("%d live REQs within four seconds of the next one, want 0", n)
		}
		for range 2 { // the first one makes its issue an active one, the second changes nothing
			wait(time.Minute)
			boot.Add(testkit.Comment(testkit.Key(1), time.Now().Unix(), p.issues[0], "thanks"))
			wait(time.Second)
		}
		if n := asked(time.Second); n != 1 {
			t.Errorf("%d live REQs within a second, after what changes nothing, want 1", n)
		}
	})
}

// liveREQs is how many a relay was sent so far.
func liveREQs(r *testkit.FakeRelay) (n int) {
	for _, f := range r.Frames() {
		if strings.HasPrefix(f, `["REQ","l`) {
			n++
		}
	}
	return n
}
