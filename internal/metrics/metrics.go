// Package metrics tells Prometheus how this relay stands. It counts nothing of
// its own: whenever it is asked it reads the figures that each part keeps, so
// that a series about another relay is there for as long as that relay holds a
// slot, and strangers cannot add any.
package metrics

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"graspd/internal/contain"
	"graspd/internal/ingest"
	"graspd/internal/relay"
	"graspd/internal/status"
	"graspd/internal/store"
)

// Config is where the figures come from.
type Config struct {
	Version string
	Store   interface{ Stats() store.Stats }
	Door    interface{ Stats() ingest.Stats }
	Relay   Relay
	Sync    Sync // nil when this relay does not sync
	Faults  *contain.Faults
}

// Relay is what is asked of the side that serves clients.
type Relay interface {
	Stats() relay.Stats
	Traffic() relay.Traffic
}

// Sync is what is asked of the sync engine.
type Sync interface {
	// Relays tells how the engine stands with every relay that holds a slot.
	Relays(ctx context.Context) []status.Relay
}

// patience is how long an answer waits for the engine.
const patience = 5 * time.Second

// part writes the figures of one part of the program.
type part interface {
	collect(ctx context.Context, to chan<- prometheus.Metric)
}

// collector asks every part.
type collector struct {
	families []*family
	parts    []part
}

func newCollector(c Config) *collector {
	b := &book{}
	parts := []part{newBuild(b, c.Version), newIngest(b, c.Door), newStore(b, c.Store), newRelay(b, c.Relay), newSync(b, c), newFaults(b, c.Faults)}
	return &collector{families: b.families, parts: parts}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range c.families {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, p := range c.parts {
		p.collect(ctx, to)
	}
}

// Handler answers with all figures, those of the Go runtime and of the process
// among them.
func Handler(c Config) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(c), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 2 * patience})
}

// build tells which version this is.
type build struct {
	info    *family
	version string
}

func newBuild(b *book, version string) part {
	return build{b.gauge("graspd_build_info", "1, with the version that runs.", "version"), version}
}

func (p build) collect(_ context.Context, to chan<- prometheus.Metric) { p.info.tell(to, 1, p.version) }
