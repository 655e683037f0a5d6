package peer_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// TestAConnectionGoesOnWhereTheOneBeforeItEnded, however few requests a connection bears: no filter that one has read is read again, but for what may
// have come since.
func TestAConnectionGoesOnWhereTheOneBeforeItEnded(t *testing.T) {
	for name, c := range map[string]struct {
		cfg    peer.Config
		limits capacity.Limits
		shown  int // events that a comparison shows
	}{
		"by pages":                                    {cfg: peer.Config{NoNegentropy: true}},
		"by comparison":                               {shown: 100},
		"by comparison of the newest":                 {shown: 1},
		"by pages, of items that nobody follows":      {cfg: peer.Config{NoNegentropy: true}, limits: capacity.Limits{MaxSubscriptions: 1}},
		"by comparison, of items that nobody follows": {shown: 100, limits: capacity.Limits{MaxSubscriptions: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			_, w := small(t, 0)
			d, m, all := newDriver(t, c.cfg), mint{N: 1 << 32}, []*nostr.Event(nil)
			for i := range 4 {
				all = append(all, m.Event(nostr.KindComment, key(1), int64(1000-i), nostr.Tag{"A", address(key(0), "x")}))
			}
			var here []*nostr.Event
			d.own = func(f nostr.Filter) []*nostr.Event { return matching(here, f) }
			d.serve = func(_ string, filters []nostr.Filter) []*nostr.Event {
				page := matching(all, filters[0])
				here = append(here, page...)
				return page
			}
			d.neg = func(f nostr.Filter) []*nostr.Event { x := matching(all, f); return x[:min(len(x), c.shown)] }
			asked, left, twice := map[string]int{}, 0, 0
			d.hold = func(e peer.Effect) bool {
				switch e := e.(type) {
				case peer.Request:
					if left--; left >= 0 && e.Class != peer.Live && e.Filters[0].Since == nil && e.Filters[0].Until == nil && e.Filters[0].IDs == nil {
						asked[e.Filters[0].Key()]++
					}
				case peer.OpenNeg:
					if left--; left >= 0 {
						asked["compared "+e.Filter.Key()]++
					}
				}
				return left < 0
			}
			d.do(peer.Wanted{Want: w})
			n := 0
			for ; !d.peer.AllConfirmed(); n++ {
				if n > 30 {
					t.Fatalf("not confirmed after %d connections: %+v", n, d.peer.Status())
				}
				left = 11
				d.do(peer.Connected{Limits: c.limits})
				if d.peer.AllConfirmed() {
					break
				}
				d.do(peer.Disconnected{Reason: "that was enough"})
				if d.pass(10 * time.Second); d.dials() != n+2 {
					t.Fatalf("after connection %d the relay is not dialed soon: %+v", n, d.peer.Status())
				}
			}
			for f, times := range asked {
				if twice += times - 1; times > 2 {
					t.Errorf("asked %d times: %s", times, f)
				}
			}
			if twice > 2*n { // what was under way when a connection ended
				t.Errorf("%d filters were asked twice on %d connections", twice, n)
			}
		})
	}
}

// TestNothingNewMakesNoRelayWorthDialingSoon: one that hangs up as soon as all is confirmed is dialed less and less often, though what nobody follows is
// confirmed each time anew.
func TestNothingNewMakesNoRelayWorthDialingSoon(t *testing.T) {
	for _, limits := range []capacity.Limits{{}, {MaxSubscriptions: 1}} {
		_, w := small(t, 3)
		d := newDriver(t, peer.Config{NoNegentropy: true})
		d.do(peer.Wanted{Want: w})
		for range 6 {
			if d.do(peer.Connected{Limits: limits}); !d.peer.AllConfirmed() {
				t.Fatalf("%+v", d.peer.Status())
			}
			d.do(peer.Disconnected{Reason: "that was enough"})
			d.pass(d.wait())
		}
		if s := d.peer.Status(); s.Failures < 5 {
			t.Errorf("%d subscriptions: %+v", limits.MaxSubscriptions, s)
		}
	}
}
