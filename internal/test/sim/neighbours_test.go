package sim_test

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestSlowDownInTheMiddleOfAPagePausesOneRelay: no other relay notices, and neither does what is live on this one.
func TestSlowDownInTheMiddleOfAPagePausesOneRelay(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		busy, calm := p.relay, p.w.Fake("calm.example.net")
		busy.Neg, busy.PageCap = testkit.NegNotice, 20
		calm.Neg, calm.PageCap = testkit.NegNotice, 20
		x, y := p.project("busy", 60, busy.URL), p.project("calm", 60, busy.URL, calm.URL)
		busy.Store(append(x.all(), y.ann)...)
		calm.Store(y.all()...)
		p.here.Start()
		wait(time.Second)
		busy.Temper.Store(&testkit.Temper{Break: 100})
		p.here.Publish(x.ann)
		p.here.Publish(y.ann)
		wait(time.Minute)
		p.here.WantStored(y.all()...)
		before := asks(busy)
		for range 7 {
			live, other := x.issueAt(p.w.Unix(), "live"), y.issueAt(p.w.Unix(), "live")
			busy.Add(live)
			calm.Add(other)
			wait(time.Second)
			p.here.WantStored(live, other)
			wait(20 * time.Second)
		}
		if n := asks(busy) - before; n > 8 {
			t.Errorf("asked %d times within two and a half minutes by a relay that wants a pause", n)
		}
		if s := state(t, p.here, busy.URL); s.Failures != 0 || s.Phase == "live" {
			t.Errorf("%+v", s)
		}
		busy.Temper.Store(nil)
		settle(t, p.here, 30*time.Minute)
		p.here.WantStored(x.all()...)
	})
}

// TestFiveHundredRelaysHalfOfThemDead: the living half takes no longer than it takes without the dead.
func TestFiveHundredRelaysHalfOfThemDead(t *testing.T) {
	alone, among := meets(t, 250/slower, 0), meets(t, 250/slower, 250/slower)
	if among > alone+2*time.Second {
		t.Errorf("the living take %v, and %v among as many dead ones", alone, among)
	}
}

// meets tells how long it takes until something has come from each of the living relays.
func meets(t *testing.T, living, dead int) (took time.Duration) {
	bubble(t, func(t *testing.T, w *sim.World) {
		here := w.Graspd("here.example.org", sim.Options{})
		var alive []*testkit.FakeRelay
		var names []string
		for i := range living {
			r := w.Fake(fmt.Sprintf("living%d.example.net", i))
			r.Neg = testkit.NegNotice
			alive, names = append(alive, r), append(names, string(r.URL))
			if i < dead {
				names = append(names, string(deadHost(t, w, i)))
			}
		}
		here.Start()
		wait(time.Second) // or else it depends on who is first whether the batch window begins with what is published
		var want []*nostr.Event
		for n := 0; n*19 < len(names); n++ {
			owner := testkit.Someone(1000 + n)
			some := names[n*19 : min(len(names), n*19+19)]
			tag := append(nostr.Tag{"relays", string(here.URL)}, some...)
			ann := testkit.Mark(owner, w.Unix()-100, nip34.KindRepository, "", nostr.Tag{"d", "proj"}, tag)
			for _, r := range alive {
				for _, u := range some {
					if u == string(r.URL) {
						e := issue(w, 3, ann, u)
						r.Store(e)
						want = append(want, e)
					}
				}
			}
			here.Publish(ann)
		}
		begun := time.Now()
		for missing := len(want); missing > 0; {
			wait(100 * time.Millisecond)
			missing = 0
			for _, e := range want {
				if !here.Has(e) {
					missing++
				}
			}
			if took = time.Since(begun); took > 5*time.Minute {
				t.Fatalf("%d of %d are missing after %v", missing, len(want), took)
			}
		}
	})
	return took
}

// deadHost is a relay that is dead in one of the ways in which they are.
func deadHost(t *testing.T, w *sim.World, n int) grasp.RelayURL {
	name := fmt.Sprintf("dead%d.example.com", n)
	h := w.Net.Host(name)
	switch n % 5 {
	case 0:
		h.Set(sim.Refuses)
	case 1:
		h.Set(sim.Swallows)
	case 2:
		h.Set(sim.Unresolved)
	case 3: // accepts, reads and says nothing
		accepts(t, h, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	case 4: // speaks something else
		accepts(t, h, func(c net.Conn) { _, _ = c.Write([]byte{21, 3, 1, 0, 2, 2, 70}); c.Close() })
	}
	return sim.URL(name)
}

// accepts serves a host until the test ends.
func accepts(t *testing.T, h *sim.Host, serve func(net.Conn)) {
	l := h.Listen()
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { serve(c); c.Close() }()
		}
	}()
}

// TestAnEndlessReconciliationDelaysNoLiveEvent, its own relay's or another's.
func TestAnEndlessReconciliationDelaysNoLiveEvent(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		other := p.w.Fake("other.example.net")
		p.relay.Neg = testkit.NegEndless
		x := p.project("proj", 5, p.relay.URL, other.URL)
		p.relay.Store(x.all()...)
		other.Store(x.all()...)
		p.here.Start()
		p.here.Publish(x.ann)
		wait(30 * time.Second)
		p.here.WantStored(x.all()...)
		for i := range 20 {
			root := x.issueAt(p.w.Unix(), fmt.Sprint("live ", i))
			from := []*testkit.FakeRelay{p.relay, other}[i%2]
			from.Add(root)
			wait(time.Second)
			p.here.WantStored(root)
			wait(2 * time.Minute)
			c := commentAt(p.w.Unix(), root)
			from.Add(c)
			wait(time.Second)
			p.here.WantStored(c)
		}
		if s := state(t, p.here, p.relay.URL); s.Failures != 0 || s.Phase != "syncing" {
			t.Errorf("the reconciliation is over: %+v", s)
		}
		if s := state(t, p.here, other.URL); s.Phase != "live" {
			t.Errorf("the other: %+v", s)
		}
	})
}
