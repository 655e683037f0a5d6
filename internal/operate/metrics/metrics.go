// Package metrics tells Prometheus how this relay stands. It counts nothing by itself: whenever Prometheus asks, it reads the figures that
// each part of the relay keeps. So a series about another relay is there for as long as that relay holds a slot, and strangers cannot add
// any series.
package metrics

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/status"
)

// Config says which parts keep the figures.
type Config struct {
	Version string
	Store   Store
	Door    interface{ Stats() ingest.Stats } // nil when another node writes
	Relay   Relay
	Sync    Sync // nil when this relay does not sync
	Git     *Git // nil when it hosts no repositories
	Faults  *contain.Faults
	Backups Backups // nil when this relay makes none by itself
	Bucket  Bucket  // nil when this relay has none
	Reports Reports // nil when none are kept
	Cluster Cluster // nil when this relay shares its bucket with no other node
	// Problems lists what the operator should mend; nil where nobody looks.
	Problems func(ctx context.Context) []string
}

// Backups makes backups by itself.
type Backups interface{ Status() status.Backups }

// Cluster says how this node stands among those that share a bucket.
type Cluster interface{ Standing() status.Cluster }

// Reports keeps what people have reported.
type Reports interface{ Open() []moderation.Reported }

// Store keeps figures about the event store.
type Store interface {
	Stats() store.Stats
	// Disk looks at the file system that the store is on.
	Disk() (store.Disk, error)
}

// Relay keeps figures about the side that serves clients.
type Relay interface {
	Stats() relay.Stats
	Traffic() relay.Traffic
}

// Sync keeps figures about the sync engine.
type Sync interface {
	// Relays says how the engine stands with every relay that holds a slot.
	Relays(ctx context.Context) []status.Relay
}

// patience is how long an answer waits for the engine.
const patience = 5 * time.Second

func newCollector(from Config) *collector {
	c := &collector{}
	ofBuild(c, from.Version)
	ofDoor(c, from.Door)
	ofStore(c, from.Store)
	ofClients(c, from.Relay)
	ofSync(c, from)
	ofGit(c, from)
	ofFaults(c, from.Faults)
	ofBackups(c, from.Backups)
	ofBucket(c, from.Bucket)
	ofReports(c, from.Reports)
	ofCluster(c, from.Cluster)
	ofProblems(c, from.Problems)
	return c
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
		p(ctx, to)
	}
}

// Handler returns a handler that answers with all figures, those of the Go runtime and of the process among them.
func Handler(c Config) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(c), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 2 * patience})
}

// ofBuild adds the version of the program.
func ofBuild(c *collector, version string) {
	part(c, func(context.Context) string { return version },
		gauges(c, "graspd_build_info", "1, with the version that runs.", []string{"version"}, func(v string, to series) { to.tell(1, v) }))
}

const faultsHelp = "Faults in this program that ended what they were found in, such as one client's connection, and nothing else. Each is a defect; the log has its place."

// ofFaults adds the number of panics that ended one client or one relay alone.
func ofFaults(c *collector, from *contain.Faults) {
	part(c, func(context.Context) uint64 { n, _ := from.Seen(); return n },
		counter(c, "graspd_faults_total", faultsHelp, func(n uint64) uint64 { return n }))
}
