package peer_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/history"
)

// TestATryThatAPersonAskedFor leaves the wait as it was when it fails, however often they ask and however it fails.
func TestATryThatAPersonAskedFor(t *testing.T) {
	for name, fail := range map[string]func(d *driver){
		"refused": func(d *driver) { d.do(peer.DialFailed{Reason: "refused again"}) },
		"lost": func(d *driver) {
			d.peer.Step(d.clock, peer.Connected{}) // it answers nothing
			d.do(peer.Disconnected{Reason: "refused again"})
		},
	} {
		d, _ := failing(t, 6)
		wait, since := d.wait(), d.peer.Status().FailingSince
		if since.IsZero() {
			t.Fatal("since when it fails is not told")
		}
		for range 3 {
			d.pass(10 * time.Second)
			before := d.dials()
			d.do(peer.Retry{})
			if d.dials() != before+1 {
				t.Fatalf("%s: not tried at once", name)
			}
			fail(d)
			wait -= 10 * time.Second
			s := d.peer.Status()
			if got := d.wait(); got != wait || s.Failures != 6 || s.Cause != "refused again" || !s.FailingSince.Equal(since.Time) {
				t.Fatalf("%s: waits %v, want %v; %+v", name, got, wait, s)
			}
		}
		d.pass(wait)
		d.do(peer.DialFailed{Reason: "refused"})
		if got := d.wait(); !about(got, 5*64*time.Second) || d.peer.Status().Failures != 7 {
			t.Errorf("%s: after the try that nobody asked for it waits %v", name, got)
		}
	}
}

// TestATryWhoseTimeHadCome counts: a person who asks takes nothing away from the count of failures.
func TestATryWhoseTimeHadCome(t *testing.T) {
	d, _ := failing(t, 6)
	wait := d.wait()
	d.do(peer.Retry{})
	d.pass(wait)
	d.do(peer.DialFailed{Reason: "it took long"})
	if got := d.wait(); !about(got, 5*64*time.Second) || d.peer.Status().Failures != 7 {
		t.Errorf("it waits %v", got)
	}
}

// TestATryThatSucceeds is nobody's any more: what fails later is a failure like any other.
func TestATryThatSucceeds(t *testing.T) {
	d, _ := failing(t, 60) // dead: the next try is a day off
	d.do(peer.Retry{})
	d.do(peer.Connected{})
	d.pass(6 * time.Minute)
	if s := d.peer.Status(); s.Failures != 0 || !s.FailingSince.IsZero() {
		t.Fatalf("%+v", s)
	}
	d.do(peer.Disconnected{Reason: "lost"})
	d.do(peer.Retry{})
	d.do(peer.DialFailed{Reason: "refused"})
	if got := d.wait(); got > 10*time.Second {
		t.Errorf("it waits %v", got)
	}
}

// TestATryThatAPersonAskedForASlowRelay: a server that asks to slow down is left alone for no shorter than that.
func TestATryThatAPersonAskedForASlowRelay(t *testing.T) {
	d, _ := failing(t, 9)
	wait := d.wait()
	d.do(peer.Retry{})
	d.do(peer.DialFailed{Reason: "429", SlowIt: true})
	if got := d.wait(); got != wait {
		t.Errorf("it waits %v, want %v", got, wait)
	}
}

// TestARelayWithoutAConnectionThatIsTried: while no peer is there, the record keeps when it would have been tried.
func TestARelayWithoutAConnectionThatIsTried(t *testing.T) {
	d, w := failing(t, 6)
	wait := d.wait()
	n := d.reborn(peer.Config{}, time.Second, func(r *history.Record) { *r = r.Retried().Retried() })
	n.do(peer.Wanted{Want: w})
	if n.dials() != 1 {
		t.Fatal("not tried at once")
	}
	n.do(peer.DialFailed{Reason: "refused"})
	if got := n.wait(); got != wait-time.Second {
		t.Errorf("it waits %v, want %v", got, wait-time.Second)
	}
}
