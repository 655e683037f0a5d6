package metrics

import "github.com/prometheus/client_golang/prometheus"

// family is one metric with all its label values.
type family struct {
	name, kind, help string
	labels           []string
	desc             *prometheus.Desc
	value            prometheus.ValueType
}

// book lists the families in the order in which they were made.
type book struct{ families []*family }

func (b *book) add(kind string, value prometheus.ValueType, name, help string, labels []string) *family {
	f := &family{name, kind, help, labels, prometheus.NewDesc(name, help, labels, nil), value}
	b.families = append(b.families, f)
	return f
}

func (b *book) gauge(name, help string, labels ...string) *family {
	return b.add("gauge", prometheus.GaugeValue, name, help, labels)
}

func (b *book) counter(name, help string, labels ...string) *family {
	return b.add("counter", prometheus.CounterValue, name, help, labels)
}

func (b *book) histogram(name, help string, labels ...string) *family {
	return b.add("histogram", prometheus.UntypedValue, name, help, labels)
}

// tell writes one series.
func (f *family) tell(to chan<- prometheus.Metric, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(f.desc, f.value, v, labels...)
}

// classes writes one histogram, from the numbers of its classes, not summed up.
func (f *family) classes(to chan<- prometheus.Metric, bounds []float64, counts []uint64, sum float64, labels ...string) {
	below, n := make(map[float64]uint64, len(bounds)), uint64(0)
	for i, c := range counts {
		if n += c; i < len(bounds) {
			below[bounds[i]] = n
		}
	}
	to <- prometheus.MustNewConstHistogram(f.desc, n, sum, below, labels...)
}
