package peer_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// TestWhatIsReadAgainIsProven: a second with more than a page stays unproven until the relay has answered once in full.
func TestWhatIsReadAgainIsProven(t *testing.T) {
	_, w := small(t, 0)
	d, m := newDriver(t, peer.Config{NoNegentropy: true}), mint{N: 1 << 32}
	var all []*nostr.Event
	for range 600 {
		all = append(all, m.Event(nostr.KindComment, key(1), 1000, nostr.Tag{"A", address(key(0), "x")}))
	}
	d.serve = func(_ string, filters []nostr.Filter) (out []*nostr.Event) {
		for _, e := range all {
			if filters[0].Matches(e) && len(out) < *filters[0].Limit {
				out = append(out, e)
			}
		}
		return out
	}
	d.connect(w, capacity.Limits{})
	s := d.peer.Status()
	if s.Phase != status.PhaseUnproven || s.Unproven.Repositories != 1 || s.Confirmed.Repositories != 0 || d.peer.Details().Parts[0].Complete() {
		t.Errorf("a second that no page holds: %+v", s)
	}
	all = append([]*nostr.Event{m.Event(nostr.KindComment, key(1), 2000, nostr.Tag{"A", address(key(0), "x")})}, all[:400]...)
	d.pass(26 * time.Hour)
	if s := d.peer.Status(); s.Phase != status.PhaseLive || s.Unproven.Items() > 0 || s.Confirmed.Repositories != 1 || !d.peer.Details().Parts[0].Complete() {
		t.Errorf("once it fits into a page: %+v", s)
	}
}

// A repository whose announcement waits for git data is not complete here, whatever the relay has answered.
func TestWhatWaitsIsNotComplete(t *testing.T) {
	f := newFold(t)
	f.Await(f.Announce(key(0), "x", 1, []string{us, string(here)}))
	f.AddAll(f.Announce(key(0), "y", 1, []string{us, string(here)}))
	f.Step()
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.serve = func(string, []nostr.Filter) []*nostr.Event { return nil }
	d.connect(f.Wants[here], capacity.Limits{})
	d.pass(time.Minute)
	s, complete := d.peer.Status(), 0
	for _, x := range d.peer.Details().Parts {
		if x.Complete() {
			complete++
		}
	}
	if s.Want.Repositories != 2 || s.Confirmed.Repositories != 1 || complete != 1 || !d.peer.AllConfirmed() || s.Phase != status.PhaseLive {
		t.Errorf("%d complete; %+v", complete, s)
	}
}
