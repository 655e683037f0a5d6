package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"graspd/internal/store"
)

// shelf tells of what is stored.
type shelf struct {
	from interface{ Stats() store.Stats }

	events, repositories, remembered, head, bytes *family
}

func newStore(b *book, from interface{ Stats() store.Stats }) part {
	return shelf{
		from:         from,
		events:       b.gauge("graspd_store_events", "Events stored."),
		repositories: b.gauge("graspd_store_repositories", "Repository announcements among them."),
		remembered:   b.gauge("graspd_store_remembered", "Events that were decided against, whose ids are kept so that they are not fetched again."),
		head:         b.gauge("graspd_store_head", "Number of the last entry of the log."),
		bytes:        b.gauge("graspd_store_bytes", "Bytes on the disk."),
	}
}

func (p shelf) collect(_ context.Context, to chan<- prometheus.Metric) {
	s := p.from.Stats()
	p.events.tell(to, float64(s.Events))
	p.repositories.tell(to, float64(s.Repositories))
	p.remembered.tell(to, float64(s.Remembered))
	p.head.tell(to, float64(s.Head))
	p.bytes.tell(to, float64(s.DiskBytes))
}
