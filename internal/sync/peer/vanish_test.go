package peer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/history"
)

// vanishing lists the stored filters for requests to vanish that were asked, but for those of layer 4.
func (d *driver) vanishing() (out []nostr.Filter) {
	for _, r := range d.requests(peer.Catchup) {
		for _, f := range r.Filters {
			if slices.Contains(f.Kinds, nostr.KindVanish) && f.Authors == nil {
				out = append(out, f)
			}
		}
	}
	return out
}

func (d *driver) followsVanish() bool {
	return slices.ContainsFunc(d.following(), func(f nostr.Filter) bool { return slices.Contains(f.Kinds, nostr.KindVanish) })
}

// TestRequestsToVanishAreFollowed beside the announcements; those of the time away are asked for at a reconnect, however long
// that was, after a restart too, and never all of them.
func TestRequestsToVanishAreFollowed(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(w, capacity.Limits{})
	if !d.followsVanish() || len(d.vanishing()) != 0 {
		t.Errorf("follows them %v, and asks for %v at the first connect", d.followsVanish(), d.vanishing())
	}
	for _, away := range []time.Duration{time.Minute, 3 * 24 * time.Hour} {
		d.pass(10 * time.Minute)
		d.do(peer.Alive{})
		heard := d.clock.Wall
		d.do(peer.Disconnected{Reason: "reset"})
		d.open = map[string]peer.Request{}
		d.at(d.clock.Mono + away)
		d.sent = nil
		d.do(peer.Tick{})
		d.do(peer.Connected{})
		d.pass(time.Minute)
		asked := d.vanishing()
		if len(asked) == 0 || !d.followsVanish() {
			t.Fatalf("away for %v: asks for %v, follows %v", away, asked, d.followsVanish())
		}
		for _, f := range asked {
			if f.Since == nil || *f.Since != heard.Add(-15*time.Minute).Unix() {
				t.Errorf("away for %v: asks %s, heard last at %d", away, f.AppendJSON(nil), heard.Unix())
			}
		}
		if !d.peer.AllConfirmed() {
			t.Errorf("%+v", d.peer.Status())
		}
	}
	again := newDriver(t, peer.Config{NoNegentropy: true, Past: d.peer.Record()})
	again.clock = d.clock
	again.connect(w, capacity.Limits{})
	if len(again.vanishing()) == 0 {
		t.Error("after a restart they are not asked for")
	}
}

// TestNothingWaitsForRequestsToVanish: a relay that refuses to be asked for them, stored or live, is complete and followed
// without.
func TestNothingWaitsForRequestsToVanish(t *testing.T) {
	for _, text := range []string{"ERROR: bad req: filter validation failed: kind not allowed: 62", "restricted: kinds of ours only", "blocked: not these kinds", "error: no"} {
		_, w := small(t, 3)
		d := newDriver(t, peer.Config{NoNegentropy: true, Past: history.Record{LastAlive: epoch.Add(-time.Hour)}})
		d.refuse = func(r peer.Request) nostr.RelayMessage {
			if slices.ContainsFunc(r.Filters, func(f nostr.Filter) bool { return slices.Contains(f.Kinds, nostr.KindVanish) }) && (r.Class != peer.Live || text != "error: no") {
				return nostr.Closed{Sub: r.Sub, Reason: text}
			}
			return nil
		}
		d.connect(w, capacity.Limits{})
		d.pass(10 * time.Second)
		if s := d.peer.Status(); !d.peer.AllConfirmed() || s.LiveREQs == 0 {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

// TestSilenceAboutRequestsToVanish holds nothing up for longer than other silence does.
func TestSilenceAboutRequestsToVanish(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{Past: history.Record{LastAlive: epoch.Add(-time.Hour)}})
	d.hold = func(e peer.Effect) bool {
		r, ok := e.(peer.Request)
		if n, is := e.(peer.OpenNeg); is && n.Filter.Kinds != nil && n.Filter.Kinds[0] == nostr.KindVanish {
			return true
		}
		return ok && r.Class != peer.Live && r.Filters[0].Kinds != nil && r.Filters[0].Kinds[0] == nostr.KindVanish
	}
	d.connect(w, capacity.Limits{})
	d.pass(65 * time.Second)
	if !d.peer.AllConfirmed() {
		t.Errorf("%+v", d.peer.Status())
	}
}
