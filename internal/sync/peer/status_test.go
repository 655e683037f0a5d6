package peer_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// TestStatusWalksNothing: how much is wanted of a relay makes no difference to what its status costs.
func TestStatusWalksNothing(t *testing.T) {
	allocations := make(map[int]float64)
	for _, n := range []int{10, 3000} {
		f := newFold(t)
		for i := range n {
			f.AddAll(f.Announce(key(i%70), fmt.Sprint("repo ", i), 1, []string{us, string(here)}))
		}
		f.Step()
		s := &shelves{driver: newDriver(t, peer.Config{}), mint: mint{N: 1 << 32}, f: f, lacks: map[nostr.ID]bool{}}
		s.neg = func(nostr.Filter) []*nostr.Event { return nil }
		s.own = s.neg
		s.connect(s.want(), capacity.Limits{})
		s.pass(time.Hour)
		s.do(peer.Tick{}) // both have an uptime
		before := s.peer.Status()
		if before.Confirmed.Repositories != n || before.Phase != "live" {
			t.Fatalf("%+v", before)
		}
		s.peer.Blind()
		if after := s.peer.Status(); !reflect.DeepEqual(before, after) {
			t.Errorf("%d repositories: %+v, and without a look at them %+v", n, before, after)
		}
		allocations[n] = testing.AllocsPerRun(10, func() { s.peer.Status() })
	}
	if allocations[10] != allocations[3000] {
		t.Errorf("allocations: %v", allocations)
	}
}

// TestStatusTellsWhyARelayFails, as long as it does.
func TestStatusTellsWhyARelayFails(t *testing.T) {
	_, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	cause := func(want string) {
		t.Helper()
		if got := d.peer.Status().Cause; string(got) != want {
			t.Errorf("the cause is %q, want %q", got, want)
		}
	}
	d.do(peer.Wanted{Want: w})
	cause("")
	d.do(peer.DialFailed{Reason: "not dialed for an announcement: port 22 belongs to another service"})
	cause("not dialed for an announcement: port 22 belongs to another service")
	d.pass(10 * time.Second)
	cause("not dialed for an announcement: port 22 belongs to another service")
	d.do(peer.DialFailed{Reason: strings.Repeat("x", 400)})
	cause(strings.Repeat("x", 300))
	d.pass(time.Minute)
	d.do(peer.DialFailed{Reason: "HTTP 429", SlowIt: true})
	cause("asked to slow down")
	d.pass(2 * time.Minute)
	d.do(peer.Connected{})
	d.pass(10 * time.Minute)
	if s := d.peer.Status(); s.Failures != 0 || s.Cause != "" {
		t.Errorf("it does well: %+v", s)
	}
	d.do(peer.Disconnected{Reason: "closed by the relay: 1001 going"})
	cause("closed by the relay: 1001 going")
}
