package peer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// TestWhatComesAndGoesLeavesNothing: repositories that are edited and replaced all the time, while two requests of the relay
// drip, fill no queue, and neither do their shares.
func TestWhatComesAndGoesLeavesNothing(t *testing.T) {
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, string(here)})).Step()
	d := newDriver(t, peer.Config{NoNegentropy: true})
	var dripping []string
	d.hold = func(e peer.Effect) bool {
		r, ok := e.(peer.Request)
		if ok && r.Class != peer.Live {
			dripping = append(dripping, r.Sub)
			return true
		}
		return false
	}
	d.connect(f.Wants[here], capacity.Limits{})
	var last *nostr.Event
	for i := range 400 {
		e := f.Announce(key(1), fmt.Sprint("y", i), 1, []string{us, string(here)})
		if f.Add(e); last != nil {
			f.Remove(last.ID)
		}
		last = e
		f.Step()
		d.do(peer.Wanted{Want: f.Wants[here]})
		for _, sub := range dripping[max(0, len(dripping)-2):] {
			d.do(peer.Received{Sub: sub, ID: e.ID, At: int64(i)})
			d.do(peer.Decided{Sub: sub, ID: e.ID})
		}
		d.pass(20 * time.Second)
		if err := d.peer.Check(); err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
	}
}

// TestSharesOfFormerRepositories are forgotten when they are many.
func TestSharesOfFormerRepositories(t *testing.T) {
	f := newFold(t)
	d := newDriver(t, peer.Config{})
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, string(here)})).Step()
	d.connect(f.Wants[here], capacity.Limits{})
	for i := range 200 {
		e := f.Announce(key(1), "y", int64(2+i), []string{us, string(here)})
		own := f.Event(nip34.KindIssue, key(1), 1, nostr.Tag{"a", address(key(1), "y")})
		d.own = func(flt nostr.Filter) (out []*nostr.Event) {
			if flt.Matches(own) {
				out = append(out, own)
			}
			return out
		}
		f.Add(e)
		f.Step()
		d.do(peer.Wanted{Want: f.Wants[here]})
		d.pass(2 * time.Minute)
		if n := d.peer.Shares(); i == 0 && n == 0 {
			t.Fatal("no shares are counted")
		}
		f.Remove(e.ID)
		f.Step()
		d.do(peer.Wanted{Want: f.Wants[here]})
		if err := d.peer.Check(); err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
	}
	if n := d.peer.Covered(key(0)); n != 1 {
		t.Errorf("the repository that is wanted still has %d shares", n)
	}
}
