package peer_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// When what was refused may be taken, everything is asked again at once, without since, over the live subscriptions that
// stand, and what that brings is no gap.
func TestReconsider(t *testing.T) {
	g := newGapWorld(t, 2)
	refused := g.has(30*time.Minute, "a", address(key(0), "x"))
	g.brought[refused.ID] = true // and thrown away
	g.pass(time.Hour)
	if s := g.peer.Status(); s.Phase != "live" || s.Confirmed != s.Want {
		t.Fatalf("%+v", s)
	}
	before, counted := len(g.sent), g.peer.Status().Counters
	delete(g.brought, refused.ID)
	g.hold = func(e peer.Effect) bool { r, ok := e.(peer.Request); return ok && r.Class == peer.Catchup }
	g.do(peer.Reconsider{})
	if s := g.peer.Status(); s.Confirmed.Repositories+s.Confirmed.Roots != 0 {
		t.Errorf("confirmed are still %+v", s.Confirmed)
	}
	g.hold = nil
	g.pass(10 * time.Minute)
	if s := g.peer.Status(); !g.brought[refused.ID] || s.Phase != "live" || s.Confirmed != s.Want {
		t.Errorf("brought %v, %+v", g.brought[refused.ID], s)
	}
	for _, e := range g.sent[before:] {
		if r, ok := e.(peer.Request); ok && r.Class == peer.Live {
			t.Errorf("opened again: %v", r)
		}
	}
	if c := g.peer.Status().Counters; c.Gaps != counted.Gaps || c.Catchup == counted.Catchup {
		t.Errorf("counted %+v, before %+v", c, counted)
	}
	if layer4 := len(g.layer4); layer4 == 0 {
		t.Error("what only comments lead to is not asked again")
	}
}

// A relay that is away when the rules change is asked for everything when it is back, however soon.
func TestReconsiderWhileAway(t *testing.T) {
	for _, change := range []bool{false, true} {
		_, w := small(t, 2)
		d := newDriver(t, peer.Config{NoNegentropy: true})
		d.connect(w, capacity.Limits{})
		d.pass(time.Hour)
		d.do(peer.Alive{})
		d.do(peer.Disconnected{Reason: "gone"})
		if change {
			d.do(peer.Reconsider{})
		}
		d.pass(time.Minute)
		before := len(d.sent)
		d.do(peer.Connected{})
		d.pass(time.Minute)
		quick := true
		for _, e := range d.sent[before:] {
			if r, ok := e.(peer.Request); ok && r.Class == peer.Catchup && !isKindsProbe(r) {
				quick = quick && r.Filters[0].Since != nil
			}
		}
		if quick == change {
			t.Errorf("rules changed %v: only what is new is asked: %v", change, quick)
		}
	}
	d := newDriver(t, peer.Config{})
	d.do(peer.Reconsider{}) // nothing is wanted yet
	if len(d.sent) != 0 {
		t.Errorf("%v", d.sent)
	}
}
