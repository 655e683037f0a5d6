package metrics

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"graspd/internal/grasp"
	"graspd/internal/status"
	"graspd/internal/store"
)

// engine tells of the relays that hold a slot.
type engine struct {
	from  Sync
	store interface{ Stats() store.Stats }

	tracked, connected, dead, saved *family
	figures                         []status.Figure
	each                            []*family // of the figures
}

func newSync(b *book, c Config) part {
	e := engine{from: c.Sync, store: c.Store, figures: status.Figures()}
	e.tracked = b.gauge("ngit_sync_relays_tracked_total", "Relays that hold a slot.")
	e.connected = b.gauge("ngit_sync_relays_connected_total", "Relays that are connected.")
	e.dead = b.gauge("ngit_sync_relays_dead_total", "Relays that are dead: failing without a break for --sync-dead-after.")
	for _, f := range e.figures {
		add := b.gauge
		if f.Counter {
			add = b.counter
		}
		e.each = append(e.each, add(f.Name, f.Help, append([]string{"relay"}, f.Labels...)...))
	}
	e.saved = b.gauge("graspd_sync_saved_bytes", "About what reconciliations have saved against a transfer of everything compared, over the relays that hold a slot: "+
		"events that did not travel, at the mean size on the disk, less the messages.")
	return e
}

func (e engine) collect(ctx context.Context, to chan<- prometheus.Metric) {
	if e.from == nil {
		return
	}
	relays := e.from.Relays(ctx)
	var connected, dead, equal, neg float64
	for _, r := range relays {
		for i, f := range e.figures {
			f.Read(&r, func(v float64, labels ...string) { e.each[i].tell(to, v, append([]string{label(r.URL)}, labels...)...) })
		}
		if r.Connected {
			connected++
		}
		if r.Health == status.Dead {
			dead++
		}
		equal += float64(r.Equal)
		neg += float64(r.NegSent + r.NegReceived)
	}
	e.tracked.tell(to, float64(len(relays)))
	e.connected.tell(to, connected)
	e.dead.tell(to, dead)
	st := e.store.Stats()
	if st.Events > 0 {
		e.saved.tell(to, equal*float64(st.DiskBytes)/float64(st.Events)-neg)
	}
}

func label(u grasp.RelayURL) string { return strings.ToValidUTF8(string(u), "\uFFFD") }
