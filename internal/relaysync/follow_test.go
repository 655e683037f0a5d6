package relaysync_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"graspd/internal/testkit"
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

// TestLiveChangesAreGathered: with changes all the time, a relay that answers at once is not asked anew after each.
func TestLiveChangesAreGathered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 1)
		boot.Store(p.all()...)
		w.start()
		defer w.stop()
		wait(time.Minute)
		live := func() (n int) {
			for _, f := range boot.Frames() {
				if strings.HasPrefix(f, `["REQ","l`) {
					n++
				}
			}
			return n
		}
		before := live()
		for i := range 300 {
			boot.Add(p.later(fmt.Sprint("issue ", i)))
			wait(200 * time.Millisecond)
		}
		wait(10 * time.Second)
		if n := live() - before; n < 10 || n > 20 {
			t.Errorf("%d live REQs within a minute of 300 changes", n)
		}
	})
}
