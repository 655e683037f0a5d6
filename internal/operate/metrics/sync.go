package metrics

import (
	"context"
	"strings"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
)

// engine is the state of the relays that hold a slot.
type engine struct {
	relays []status.Relay
	stored store.Stats
}

func ofSync(c *collector, from Config) {
	figures := []figure[engine]{
		gauge(c, "ngit_sync_relays_tracked_total", "Relays that hold a slot.", func(e engine) int { n, _, _ := status.Tally(e.relays); return n }),
		gauge(c, "ngit_sync_relays_connected_total", "Relays that are connected.", func(e engine) int { _, n, _ := status.Tally(e.relays); return n }),
		gauge(c, "ngit_sync_relays_dead_total", "Relays that are dead: failing without a break for --sync-dead-after.", func(e engine) int { _, _, n := status.Tally(e.relays); return n }),
	}
	for _, f := range status.Figures() {
		if f.Read == nil {
			continue
		}
		add := gauges[engine]
		if f.Counter {
			add = counters[engine]
		}
		figures = append(figures, add(c, f.Name, f.Help, append([]string{"relay"}, f.Labels...), func(e engine, to series) {
			for _, r := range e.relays {
				f.Read(&r, func(v float64, labels ...string) { to.tell(v, append([]string{label(r.URL)}, labels...)...) })
			}
		}))
	}
	figures = append(figures, gauges(c, "graspd_sync_saved_bytes", "About what reconciliations have saved against a transfer of everything compared, over the relays that hold a slot: "+
		"events that did not travel, at the mean size on the disk, less the messages.", nil, engine.saved))
	if from.Sync != nil {
		part(c, func(ctx context.Context) engine { return engine{from.Sync.Relays(ctx), from.Store.Stats()} }, figures...)
	}
}

func (e engine) saved(to series) {
	var equal, neg float64
	for _, r := range e.relays {
		equal += float64(r.Equal)
		neg += float64(r.NegSent + r.NegReceived)
	}
	if st := e.stored; st.Events > 0 {
		to.tell(equal*float64(st.DiskBytes)/float64(st.Events) - neg)
	}
}

func label(u grasp.RelayURL) string { return strings.ToValidUTF8(string(u), "\uFFFD") }
