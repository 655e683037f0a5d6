package peer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// TestPausesAndPortions: after the first refusal nothing is asked for 65 s, nor for what a pause did not buy, but once
// sooner. Then as many requests go out as a pause bought, and rests between them become shorter while they buy as many.
func TestPausesAndPortions(t *testing.T) {
	for _, c := range []struct {
		name    string
		refused []int // which requests are, from 1 on
		want    []time.Duration
	}{
		{"again and again", []int{1, 2, 3, 4, 5}, []time.Duration{65_000, 16_250, 65_000, 65_000, 65_000}},
		// One passes, the next does not: portions of one.
		{"one each", []int{1, 3, 8}, []time.Duration{65_000, 0, 32_500, 16_250, 8_125, 4062, 2031, 4062, 4062, 4062}},
		{"two each", []int{1, 4, 9}, []time.Duration{65_000, 0, 0, 32_500, 0, 16_250, 0, 8_125, 16_250, 0, 16_250, 0, 16_250}},
		{"never again", []int{1, 3}, []time.Duration{65_000, 0, 32_500, 16_250, 8_125, 4062, 2031, 1015, 507, 253, 0, 0}},
	} {
		f := newFold(t)
		f.AddAll(f.Announce(key(0), "x", 1, []string{us, string(here)}))
		for i := range 400 {
			f.AddAll(f.Issue(int64(i+1), address(key(0), "x")))
		}
		f.Step()
		d := newDriver(t, peer.Config{NoNegentropy: true})
		var at []time.Duration
		d.refuse = func(r peer.Request) nostr.RelayMessage {
			if r.Class == peer.Live {
				return nil
			}
			at = append(at, d.clock.Mono)
			if slices.Contains(c.refused, len(at)) {
				return nostr.Closed{Sub: r.Sub, Reason: "rate-limited: slow down"}
			}
			return nil
		}
		d.connect(f.Wants[here], capacity.Limits{})
		d.pass(20 * time.Minute)
		if len(at) <= len(c.want) {
			t.Fatalf("%s: %d requests", c.name, len(at))
		}
		for i, want := range c.want {
			if got := (at[i+1] - at[i]).Truncate(time.Millisecond); got != want*time.Millisecond {
				t.Errorf("%s: request %d comes %v after the last, want %v", c.name, i+2, got, want*time.Millisecond)
				break
			}
		}
		if !d.peer.AllConfirmed() {
			t.Errorf("%s: %+v", c.name, d.peer.Status())
		}
	}
}

// TestSeveralRefusalsAreOne where they come together: of requests that were sent before the first of them.
func TestSeveralRefusalsAreOne(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	var held []peer.Request
	d.hold = func(e peer.Effect) bool {
		r, ok := e.(peer.Request)
		if !ok || r.Class == peer.Live || len(r.Filters[0].Tags) == 0 {
			return false
		}
		held = append(held, r)
		return len(held) <= 2
	}
	d.connect(w, capacity.Limits{})
	if len(held) < 2 {
		t.Fatalf("%d requests at once", len(held))
	}
	for _, r := range held[:2] {
		d.do(peer.Frame{Message: nostr.Closed{Sub: r.Sub, Reason: "rate-limited: slow down"}})
	}
	d.pass(64 * time.Second)
	if len(held) != 2 {
		t.Errorf("asked during the pause")
	}
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if len(held) == 3 {
			return nostr.Closed{Sub: r.Sub, Reason: "rate-limited: slow down"}
		}
		return nil
	}
	d.pass(2 * time.Second)
	if len(held) != 3 {
		t.Errorf("%d requests after the pause", len(held))
	}
	d.pass(17 * time.Second) // the first pause that bought nothing
	if !d.peer.AllConfirmed() {
		t.Errorf("%+v", d.peer.Status())
	}
}

// TestAPaceIsNotForEver: a relay that was busy for a while, and refused every second request, is asked as before in the end.
func TestAPaceIsNotForEver(t *testing.T) {
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, string(here)}))
	for i := range 2000 {
		f.AddAll(f.Issue(int64(i+1), address(key(0), "x")))
	}
	f.Step()
	d := newDriver(t, peer.Config{NoNegentropy: true})
	n := 0
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if n++; r.Class != peer.Live && d.clock.Mono < 15*time.Minute && n%2 == 0 {
			return nostr.Closed{Sub: r.Sub, Reason: "rate-limited: slow down"}
		}
		return nil
	}
	d.connect(f.Wants[here], capacity.Limits{})
	d.pass(15 * time.Minute)
	if d.peer.AllConfirmed() {
		t.Fatal("it was not busy")
	}
	d.pass(30 * time.Minute)
	if !d.peer.AllConfirmed() {
		t.Errorf("half an hour later %+v", d.peer.Status())
	}
}

// TestAFullResyncForgetsThePace: a relay that took few requests at once may take more by then.
func TestAFullResyncForgetsThePace(t *testing.T) {
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, string(here)}))
	for i := range 400 {
		f.AddAll(f.Issue(int64(i+1), address(key(0), "x")))
	}
	f.Step()
	d := newDriver(t, peer.Config{NoNegentropy: true, Resync: 2 * time.Minute})
	var at, daily []time.Duration
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		switch r.Class {
		case peer.Daily:
			daily = append(daily, d.clock.Mono)
		case peer.Catchup:
			if at = append(at, d.clock.Mono); len(at) == 1 || len(at) == 3 {
				return nostr.Closed{Sub: r.Sub, Reason: "rate-limited: slow down"}
			}
		}
		return nil
	}
	d.connect(f.Wants[here], capacity.Limits{})
	d.pass(3 * time.Minute)
	if len(at) < 5 || at[4] == at[3] || len(daily) < 10 {
		t.Fatalf("requests at %v, and in the full resync at %v", at, daily)
	}
	if daily[9] != daily[0] {
		t.Errorf("the full resync asks at %v", daily)
	}
}
