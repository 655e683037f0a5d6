package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graspd/graspd/internal/base/histogram"
)

// family is one metric with all its label values.
type family struct {
	name, kind, help string
	labels           []string
	desc             *prometheus.Desc
	value            prometheus.ValueType
}

// collector asks every part for its figures. families has the families in the order in which they were added.
type collector struct {
	families []*family
	parts    []func(ctx context.Context, to chan<- prometheus.Metric)
}

func (c *collector) add(kind string, value prometheus.ValueType, name, help string, labels []string) *family {
	f := &family{name, kind, help, labels, prometheus.NewDesc(name, help, labels, nil), value}
	c.families = append(c.families, f)
	return f
}

// figure is a family, and the function that reads its values from the state S of a part of the program.
type figure[S any] struct {
	*family
	read func(s S, to series)
}

// gauges, counters and histograms make figures with any number of values, each with the values of its labels. gauge and counter make figures
// with one value and no labels.
func gauges[S any](c *collector, name, help string, labels []string, read func(S, series)) figure[S] {
	return figure[S]{c.add("gauge", prometheus.GaugeValue, name, help, labels), read}
}

func counters[S any](c *collector, name, help string, labels []string, read func(S, series)) figure[S] {
	return figure[S]{c.add("counter", prometheus.CounterValue, name, help, labels), read}
}

func histograms[S any](c *collector, name, help string, labels []string, read func(S, series)) figure[S] {
	return figure[S]{c.add("histogram", prometheus.UntypedValue, name, help, labels), read}
}

func gauge[S any, N number](c *collector, name, help string, read func(S) N) figure[S] {
	return gauges(c, name, help, nil, func(s S, to series) { to.tell(float64(read(s))) })
}

func counter[S any](c *collector, name, help string, read func(S) uint64) figure[S] {
	return counters(c, name, help, nil, func(s S, to series) { to.tell(float64(read(s))) })
}

type number interface {
	~int | ~int64 | ~uint64 | ~float64
}

// part adds a part of the program. One call of look yields the state for all its figures.
func part[S any](c *collector, look func(context.Context) S, figures ...figure[S]) {
	c.parts = append(c.parts, func(ctx context.Context, to chan<- prometheus.Metric) {
		s := look(ctx)
		for _, f := range figures {
			f.read(s, series{f.family, to})
		}
	})
}

// series writes the values of one family.
type series struct {
	of *family
	to chan<- prometheus.Metric
}

// tell writes one value, with the values of its labels.
func (s series) tell(v float64, labels ...string) {
	s.to <- prometheus.MustNewConstMetric(s.of.desc, s.of.value, v, labels...)
}

// classes writes one histogram. counts has the number of values in each class alone, not summed up.
func (s series) classes(bounds []float64, counts []uint64, sum float64, labels ...string) {
	below, n := make(map[float64]uint64, len(bounds)), uint64(0)
	for i, c := range counts {
		if n += c; i < len(bounds) {
			below[bounds[i]] = n
		}
	}
	s.to <- prometheus.MustNewConstHistogram(s.of.desc, n, sum, below, labels...)
}

// durations writes one histogram of how long pieces of work took.
func (s series) durations(c histogram.Counts, labels ...string) {
	s.classes(histogram.Seconds(), c.Classes[:], c.Sum.Seconds(), labels...)
}
