package relaysync_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestLimitsThatChange: a relay with other limits at each connection is live soon each time, also where every answer takes more than half a second.
func TestLimitsThatChange(t *testing.T) {
	for how, most := range map[testkit.Refusal]time.Duration{testkit.ByClosed: 30 * time.Second, testkit.ByNotice: 45 * time.Second} {
		for _, told := range []bool{true, false} {
			for _, roots := range []int{20, 200} {
				for delay, most := range map[time.Duration]time.Duration{1: 10 * time.Second, 300 * time.Millisecond: most} {
					t.Run(fmt.Sprint(how, told, roots, delay), func(t *testing.T) {
						bubble(t, func(t *testing.T) { limitsThatChange(t, how, told, roots, delay, most) })
					})
				}
			}
		}
	}
}

func limitsThatChange(t *testing.T, how testkit.Refusal, told bool, roots int, delay, most time.Duration) {
	w := newWorld(t, bootURL)
	w.net.Delay = func(string) func() time.Duration { return func() time.Duration { return delay } }
	boot := w.net.Relay(bootURL)
	limit := func(subs, filters, page, values int) {
		boot.Subs = testkit.Bound{Most: subs, How: how, Text: "ERROR: too many concurrent REQs"}
		boot.Filters = testkit.Bound{Most: filters, How: how, Text: "invalid: too many filters"}
		boot.Values = testkit.Bound{Most: values, How: how, Text: "invalid: too many tag values"}
		boot.PageCap = page
		if told {
			boot.Info = &nip11.Document{Limitation: nip11.Limitation{MaxSubscriptions: subs, MaxLimit: page}}
		}
	}
	limit(20, 10, 500, 100)
	p := newProject("proj", roots)
	boot.Store(p.all()...)
	now := time.Now().Unix()
	for i := range 20 {
		d, at := fmt.Sprint("repo-", i), now-90_000-int64(100*i)
		boot.Store(testkit.Announcement(testkit.Key(1), at, d, ours, bootURL), testkit.Issue(testkit.Key(3), at+10, testkit.RepositoryAddress(testkit.Key(1), d), "x"))
	}
	w.start()
	wait(5 * time.Minute)
	for i, l := range [][4]int{{7, 3, 60, 30}, {20, 10, 500, 100}, {7, 3, 60, 30}} {
		boot.Drop()
		wait(time.Millisecond)
		w.net.Change(func() { limit(l[0], l[1], l[2], l[3]) })
		if i == 2 {
			w.stop()
			w.start()
		}
		wait(15 * time.Second) // to be connected again
		wait(most)
		if s, _ := w.status(bootURL); s.Phase != "live" {
			t.Errorf("%v: %s, %+v of %+v, %d in flight", l, s.Phase, s.Confirmed, s.Want, s.InFlight)
		}
	}
	w.stop()
	w.start()
	defer w.stop()
	w.settle()
	w.wantStored(p.all()...)
}
