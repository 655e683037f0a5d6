package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"graspd/internal/contain"
)

// faults tells of panics that ended one client or one relay alone.
type faults struct {
	from  *contain.Faults
	total *family
}

const faultsHelp = "Faults in this program that ended what they were found in, such as one client's connection, and nothing else. Each is a defect; the log has its place."

func newFaults(b *book, from *contain.Faults) part {
	return faults{from, b.counter("graspd_faults_total", faultsHelp)}
}

func (p faults) collect(_ context.Context, to chan<- prometheus.Metric) {
	n, _ := p.from.Seen()
	p.total.tell(to, float64(n))
}
