package peer_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/history"
	"github.com/graspd/graspd/internal/sync/slots"
)

func TestUseOfASlot(t *testing.T) {
	f, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	use := func() slots.Use { d.do(peer.Tick{}); return history.UseOf(d.peer.Status()) }
	want := func(what string, got, want slots.Use) {
		t.Helper()
		if got != want {
			t.Errorf("%s: use %d, want %d", what, got, want)
		}
	}
	next := func() slots.Use { return d.peer.Record().Use(peer.Defaults().Backoff(), d.clock.Wall) }
	want("unknown", history.Record{}.Use(peer.Defaults().Backoff(), d.clock.Wall), slots.Trying)
	d.do(peer.Wanted{Want: w})
	want("dialing", use(), slots.Trying)
	d.fails()
	d.fails()
	want("dialing after two failures", use(), slots.Trying)
	d.do(peer.DialFailed{Reason: "refused"})
	want("after three failures", use(), slots.Unused)
	want("after three failures, without a slot", next(), slots.Unused)
	d.pass(d.wait() - 1)
	want("just before the next attempt", next(), slots.Unused)
	d.pass(1)
	want("at the next attempt", use(), slots.Trying)
	want("at the next attempt, without a slot", next(), slots.Trying)
	// It connects, and answers nothing that counts.
	d.refuse = func(peer.Request) nostr.RelayMessage { return nostr.Notice{Text: "hello"} }
	d.negFault = func(peer.OpenNeg) nostr.RelayMessage { return nostr.Notice{Text: "hello"} }
	d.do(peer.Connected{})
	want("connected", use(), slots.Trying)
	d.pass(30*time.Minute - 1)
	want("connected for almost half an hour", use(), slots.Trying)
	d.pass(1)
	want("connected for half an hour", use(), slots.Stuck)
	lost := d.peer.Record().Yielded(slots.Stuck)
	want("stuck and lost its slot", lost.Use(peer.Defaults().Backoff(), d.clock.Wall.Add(30*time.Minute-1)), slots.Unused)
	want("half an hour later", lost.Use(peer.Defaults().Backoff(), d.clock.Wall.Add(30*time.Minute)), slots.Trying)
	want("lost its slot while trying", d.peer.Record().Yielded(slots.Trying).Use(peer.Defaults().Backoff(), d.clock.Wall), slots.Trying)
	d.do(peer.Disconnected{Reason: "reset"})
	d.refuse, d.negFault = nil, nil
	d.pass(d.wait())
	d.do(peer.Connected{})
	want("all is confirmed", use(), slots.Firm)
	d.pass(time.Hour)
	want("for an hour", use(), slots.Firm)
	d.do(peer.Disconnected{Reason: "reset"})
	want("the connection is lost", use(), slots.Trying)

	d = newDriver(t, peer.Config{})
	d.do(peer.Wanted{Want: f.Wants[here]})
	d.do(peer.DialFailed{Ourself: true})
	want("ourself", use(), slots.Unused)
	want("ourself, without a slot", next(), slots.Unused)
	d = d.reborn(peer.Config{}, time.Hour, nil)
	d.do(peer.Wanted{Want: f.Wants[here]})
	if d.dials() != 0 {
		t.Error("this relay dials itself again")
	}
}
