package relaysync_test

import (
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// A relay that was found to hold the same is asked by one live REQ and one reconciliation without a filter when it comes
// back, also in another process, and what it has got meanwhile comes.
func TestAWholeRelay(t *testing.T) {
	t.Run("alone", func(t *testing.T) { aWholeRelay(t, func(*testkit.FakeRelay, project, int) {}) })
	for name, spoil := range junk {
		t.Run(name, func(t *testing.T) {
			aWholeRelay(t, func(boot *testkit.FakeRelay, p project, at int) {
				for i := range 6 {
					boot.Store(spoilt(p, at+i, spoil.how))
				}
			})
		})
	}
}

// aWholeRelay lives with a relay that gets what others brings it before each part of its life.
func aWholeRelay(t *testing.T, others func(boot *testkit.FakeRelay, p project, at int)) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		w.doorway.Verifier = anySig{}
		w.adjust = func(c *relaysync.Config) { c.Peer.WholeFrom = 1 }
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 200)
		boot.Store(p.all()...)
		others(boot, p, 0)
		w.start()
		w.settle()
		wait(20 * time.Minute) // until layer 4 has asked
		fresh := func(when string, change func()) {
			t.Helper()
			before := len(boot.Frames())
			change()
			wait(2 * time.Hour)
			w.settle()
			live, negs, probes, all := 0, 0, 0, 0
			for _, f := range boot.Frames()[before:] {
				switch {
				case strings.HasPrefix(f, `["REQ"`) && strings.Contains(f, `,{"limit":0}]`):
					live++
				case strings.HasPrefix(f, `["NEG-OPEN"`) && strings.Contains(f, `",{},"`):
					negs++
				case strings.HasPrefix(f, `["REQ"`) && strings.Contains(f, `{"until":`): // is there more than it compared?
					probes++
					continue
				case strings.HasPrefix(f, `["REQ"`) && strings.Contains(f, `"ids"`):
					continue
				}
				if strings.HasPrefix(f, `["REQ"`) || strings.HasPrefix(f, `["NEG-OPEN"`) {
					all++
				}
			}
			if live != 1 || negs != 1 || probes < 1 || probes > 2 || all != 2 {
				t.Errorf("%s: %d live REQs and %d reconciliations without a filter, %d probes, %d other requests", when, live, negs, probes, all-2)
			}
		}
		missed := testkit.Comment(testkit.Key(6), time.Now().Unix(), p.all()[1], "while nobody listens")
		fresh("connected again", func() { boot.Drop(); boot.Store(missed); others(boot, p, 10) })
		w.wantStored(missed)
		fresh("another process", func() { w.stop(); others(boot, p, 20); w.start() })
		later := testkit.Comment(testkit.Key(6), time.Now().Unix(), p.all()[1], "live")
		boot.Add(later)
		wait(time.Second)
		w.wantStored(later)
		w.stop()
	})
}
