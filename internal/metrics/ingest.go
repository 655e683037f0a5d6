package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"graspd/internal/ingest"
	"graspd/internal/policy"
	"graspd/internal/store"
)

// sources are the names of the ways in which events come, by store.Source.
var sources = [ingest.Sources]string{
	store.Direct: "direct", store.Live: "live", store.Catchup: "catchup", store.Daily: "daily",
}

// door tells of events on their way in.
type door struct {
	from interface{ Stats() ingest.Stats }

	stored, decided, refused, latency, signatures, recognised *family
	commits, failures, waiting, orphans, orphanBytes          *family
}

func newIngest(b *book, from interface{ Stats() ingest.Stats }) part {
	return door{
		from:        from,
		stored:      b.counter("ngit_sync_events_total", "Events stored, by how they came: from clients (direct), from other relays live, by catch-up or by the daily resync.", "source"),
		decided:     b.counter("graspd_ingest_events_total", "Events decided, by how they came and by what became of them.", "source", "outcome"),
		refused:     b.counter("graspd_ingest_refused_total", "Events not taken, by what became of them and by the word that the refusal begins with (NIP-01).", "outcome", "prefix"),
		latency:     b.histogram("graspd_ingest_seconds", "Time from an event's arrival to its verdict, which for a stored event follows its commit.", "source"),
		signatures:  b.counter("graspd_ingest_signatures_total", "Signatures checked.", "result"),
		recognised:  b.counter("graspd_ingest_recognised_total", "Copies of known events, answered without a check of their signature."),
		commits:     b.counter("graspd_ingest_commits_total", "Batches made durable."),
		failures:    b.counter("graspd_ingest_commit_failures_total", "Batches that could not be made durable."),
		waiting:     b.gauge("graspd_ingest_waiting_events", "Events that wait for their verification or decision."),
		orphans:     b.gauge("graspd_ingest_orphans", "Events in memory that wait for what they name."),
		orphanBytes: b.gauge("graspd_ingest_orphan_bytes", "About what these take of memory."),
	}
}

func (p door) collect(_ context.Context, to chan<- prometheus.Metric) {
	s := p.from.Stats()
	bounds := make([]float64, len(ingest.Latencies))
	for i, d := range ingest.Latencies {
		bounds[i] = d.Seconds()
	}
	for i, source := range sources {
		p.stored.tell(to, float64(s.Decided[i][policy.Accept]), source)
		for o, n := range s.Decided[i] {
			p.decided.tell(to, float64(n), source, policy.Outcome(o).String())
		}
		l := s.Latency[i]
		p.latency.classes(to, bounds, l.Classes[:], l.Sum.Seconds(), source)
	}
	for o := range s.Refused {
		for i, n := range s.Refused[o] {
			if n > 0 {
				p.refused.tell(to, float64(n), policy.Outcome(o).String(), ingest.Prefixes[i])
			}
		}
	}
	p.signatures.tell(to, float64(s.Verified), "genuine")
	p.signatures.tell(to, float64(s.Forged), "forged")
	p.recognised.tell(to, float64(s.Recognised))
	p.commits.tell(to, float64(s.Commits))
	p.failures.tell(to, float64(s.Failures))
	p.waiting.tell(to, float64(s.Waiting))
	p.orphans.tell(to, float64(s.Orphans))
	p.orphanBytes.tell(to, float64(s.OrphanCost))
}
