package plan

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/ask"
	"github.com/graspd/graspd/internal/capacity"
	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/want"
	"github.com/graspd/graspd/internal/want/wanttest"
)

// Only those are asked again whose time has come.
func TestSweepsInTheOrderOfTime(t *testing.T) {
	f := wanttest.NewFold(t)
	f.AddAll(f.Announce(wanttest.Key(0), "x", 1, []string{wanttest.Us, wanttest.Relay(1)}))
	for n := range 3 {
		f.AddAll(f.Issue(int64(n), wanttest.Address(wanttest.Key(0), "x")))
	}
	f.Step()
	w := f.Wants[URL(wanttest.Relay(1))]
	var roots []Item
	w.Repos[0].EachRoot(func(it Item) { roots = append(roots, it) })
	p := NewPeer(Config{})
	p.want, p.conn = w, newSession(p, capacity.Of(capacity.Limits{}, ask.MaxValues))
	for n, it := range roots {
		p.now.Mono = time.Duration(n) * time.Minute
		p.conn.sweepLater(itemset.Lot{Layer: want.LayerRoots, Items: []Item{it}})
	}
	for n, at := range []time.Duration{sweepInterval - 1, sweepInterval, sweepInterval + 2*time.Minute - 1, sweepInterval + 2*time.Minute} {
		p.now.Mono = at
		p.conn.tendSweeps()
		if len(p.conn.groups) != n || len(p.conn.sweeps) != 3-n {
			t.Errorf("at %v: %d asked, %d wait", at, len(p.conn.groups), len(p.conn.sweeps))
		}
		if w := p.conn.following.wake(); n < 3 && w != p.conn.sweeps[0].at {
			t.Errorf("at %v: wakes at %v", at, w)
		}
	}
}
