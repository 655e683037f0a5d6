package plan

import (
	"testing"
	"time"
)

// Only those are asked again whose time has come.
func TestSweepsInTheOrderOfTime(t *testing.T) {
	w := &Want{names: newNames()}
	p := NewPeer(Config{})
	p.want, p.conn = w, &session{limits: Limits{}.capacity(MaxValues)}
	for n := range 3 {
		var it Item
		w.names, it = w.names.addRoot(rootName{created: int64(n)})
		p.now.Mono = time.Duration(n) * time.Minute
		p.sweepLater(lot{layer: LayerRoots, items: []Item{it}})
	}
	for n, at := range []time.Duration{sweepInterval - 1, sweepInterval, sweepInterval + 2*time.Minute - 1, sweepInterval + 2*time.Minute} {
		p.now.Mono = at
		p.tendSweeps()
		if len(p.conn.groups) != n || len(p.conn.sweeps) != 3-n {
			t.Errorf("at %v: %d asked, %d wait", at, len(p.conn.groups), len(p.conn.sweeps))
		}
		if w := p.conn.wakeLive(at); n < 3 && w != p.conn.sweeps[0].at {
			t.Errorf("at %v: wakes at %v", at, w)
		}
	}
}
