package peer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
)

func TestCaughtUp(t *testing.T) {
	f, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	check := func(what string, want bool) {
		t.Helper()
		if got := d.peer.CaughtUp(); got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	check("new", false)
	d.do(peer.Wanted{Want: w})
	check("dialing", false)
	var mute, refuse string
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		layer := "live"
		if r.Class != peer.Live {
			layer = "announcements"
			if len(r.Filters[0].Tags) > 0 {
				layer = "stored " + string(r.Filters[0].Tags[0].Name)
			}
		}
		switch {
		case mute != "" && strings.HasPrefix(layer, mute):
			return nostr.Notice{Text: "hm"}
		case refuse != "" && strings.HasPrefix(layer, refuse):
			return nostr.Closed{Sub: r.Sub, Reason: "restricted: not for you"}
		}
		return nil
	}
	mute = "live"
	d.do(peer.Connected{})
	check("live REQs are not open", false)
	mute, refuse = "announcements", "stored E"
	d.pass(5 * time.Second)
	check("the announcements are asked", false)
	d.pass(30 * time.Second)
	check("the announcements were asked in vain", false)
	mute = ""
	d.pass(time.Minute)
	check("some were asked in vain", true)
	if d.peer.AllConfirmed() {
		t.Error("nothing is left")
	}
	mute = "stored a"
	f.AddAll(f.Announce(key(7), "new", 1, []string{us, string(here)})).Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	check("a new repository is asked", false)
	d.pass(31 * time.Second)
	check("a new repository was asked in vain", true)
	mute, refuse = "", ""
	d.pass(25 * time.Hour)
	check("all is confirmed", true)
	if !d.peer.AllConfirmed() {
		t.Error("not all is confirmed")
	}
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		return nostr.Closed{Sub: r.Sub, Reason: "rate-limited: slow down"}
	}
	f.AddAll(f.Announce(key(8), "newer", 1, []string{us, string(here)})).Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	d.pass(time.Second)
	check("asked to slow down", false)
	d.do(peer.Disconnected{Reason: "reset"})
	check("the connection is lost", false)
}

func TestBehind(t *testing.T) {
	f, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	behind := func(what string, want time.Duration) {
		t.Helper()
		d.do(peer.Tick{})
		if got := d.peer.Status().Behind; got != want {
			t.Errorf("%s: behind for %v, want %v", what, got, want)
		}
	}
	d.pass(5 * time.Hour)
	behind("nothing is wanted", 0)
	d.do(peer.Wanted{Want: w})
	behind("just wanted", 0)
	d.pass(time.Hour)
	behind("dialing for an hour", time.Hour)
	d.do(peer.Connected{})
	behind("confirmed", 0)
	d.do(peer.Disconnected{Reason: "reset"})
	d.pass(4 * time.Minute)
	behind("what was confirmed still counts", 0)
	d.refuse = func(r peer.Request) nostr.RelayMessage { return nostr.Notice{Text: "hm"} } // no answer
	d.do(peer.Connected{})
	d.pass(20 * time.Second)
	behind("also while its newest events are asked", 0)
	d.refuse = nil
	d.pass(5 * time.Minute)
	if !d.peer.AllConfirmed() {
		t.Fatal("not settled")
	}
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		return nostr.Closed{Sub: r.Sub, Reason: "restricted: not for you"}
	}
	f.AddAll(f.Announce(key(7), "new", 1, []string{us, string(here)})).Step()
	d.pass(time.Minute)
	d.do(peer.Wanted{Want: f.Wants[here]})
	d.pass(3 * time.Hour)
	behind("one was refused three hours ago", 3*time.Hour)
	d.clock.Wall = d.clock.Wall.Add(100 * time.Hour)
	behind("the clock was set", 3*time.Hour)
	d.refuse = nil
	d.pass(30 * time.Hour)
	behind("asked again", 0)
	d.do(peer.Wanted{})
	d.pass(7 * time.Hour)
	d.do(peer.Wanted{Want: w})
	behind("wanted again", 0)
}
