package peer_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// TestHowLongATurnTakes is told while root events are asked in turns: the interval, and what the relay takes to answer.
func TestHowLongATurnTakes(t *testing.T) {
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, string(here)}))
	for i := range 5000 {
		f.AddAll(f.Issue(int64(i+1), address(key(0), "x")))
	}
	f.Step()
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(f.Wants[here], capacity.Limits{MaxSubscriptions: 4})
	d.pass(time.Minute)
	if s := d.peer.Status(); s.SweptRoots == 0 || s.Turn.Duration != time.Hour {
		t.Fatalf("%d polled, in turns of %v", s.SweptRoots, s.Turn)
	}
	slow := false
	d.hold = func(e peer.Effect) bool { r, ok := e.(peer.Request); return ok && slow && r.Class == peer.Catchup }
	slow = true
	d.pass(time.Hour + 5*time.Minute)
	if s := d.peer.Status(); s.Turn.Duration < 64*time.Minute || s.Turn.Duration > 66*time.Minute {
		t.Errorf("under way for some minutes: turns of %v", s.Turn)
	}
	slow = false
	d.pass(10 * time.Minute)
	if s := d.peer.Status(); s.Turn.Duration < 61*time.Minute || s.Turn.Duration > 76*time.Minute {
		t.Errorf("when it had answered: turns of %v", s.Turn)
	}
	d.pass(2 * time.Hour)
	if s := d.peer.Status(); s.Turn.Duration != time.Hour {
		t.Errorf("turns of %v", s.Turn)
	}
}
