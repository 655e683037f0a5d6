package peer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// A relay that throws messages away when there are too many may have thrown a
// CLOSE away, and would count that REQ against its limit for ever.
func TestWhatWasClosedIsClosedAgain(t *testing.T) {
	f, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(w, capacity.Limits{})
	if !d.peer.AllConfirmed() {
		t.Fatal("not settled")
	}
	stored := d.requests(peer.Catchup)
	early := len(stored)
	d.pass(time.Minute)
	f.AddAll(f.Issue(10, address(key(0), "x"))).Step()
	d.do(peer.Wanted{Want: f.Wants[here]}) // more is asked and closed, a minute later
	stored = d.requests(peer.Catchup)
	if len(stored) <= early {
		t.Fatal("nothing more was asked")
	}
	d.sent = d.sent[:0]
	d.do(peer.Frame{Message: nostr.Notice{Text: "rate limited"}})
	d.pass(64 * time.Second)
	if n := len(closes(d)); n > 0 {
		t.Errorf("%d CLOSEs while asked to slow down", n)
	}
	d.pass(time.Second)
	for i, r := range stored {
		if again := slices.Contains(closes(d), r.Sub); again != (i >= early) {
			t.Errorf("request %d of %d, the first %d long ago: closed again %t", i, len(stored), early, again)
		}
	}
	d.sent = d.sent[:0]
	d.pass(5 * time.Minute)
	if n := len(closes(d)); n > 0 {
		t.Errorf("%d CLOSEs after that", n)
	}
}

// closes lists the REQs that were closed.
func closes(d *driver) (subs []string) {
	for _, e := range d.sent {
		if c, ok := e.(peer.CloseRequest); ok {
			subs = append(subs, c.Sub)
		}
	}
	return subs
}

// A NOTICE that turns a reconciliation down is about nothing else.
func TestANoticeAboutAReconciliationRefusesNothingElse(t *testing.T) {
	for _, text := range []string{"invalid: Invalid input", "error: unknown message type NEG-OPEN", "could not parse command"} {
		_, w := small(t, 300)
		d := newDriver(t, peer.Config{})
		d.negFault = func(peer.OpenNeg) nostr.RelayMessage { return nostr.Notice{Text: text} }
		d.connect(w, capacity.Limits{})
		if !d.peer.AllConfirmed() {
			t.Errorf("%q: not settled at once: %+v", text, d.peer.Status())
		}
	}
}
