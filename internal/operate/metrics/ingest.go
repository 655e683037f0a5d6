package metrics

import (
	"context"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
)

// sources has the names of the ways in which events come, by store.Source.
var sources = [ingest.Sources]string{
	store.Direct: "direct", store.Live: "live", store.Catchup: "catchup", store.Daily: "daily",
}

// ofDoor adds the figures of events on their way in.
func ofDoor(c *collector, from interface{ Stats() ingest.Stats }) {
	part(c, func(context.Context) (s ingest.Stats) {
		if from != nil {
			s = from.Stats()
		}
		return s
	},
		counters(c, "ngit_sync_events_total", "Events stored, by how they came: from clients (direct), or from other relays: by live subscriptions (live), from what a relay had stored before (catchup), or when graspd asked for everything again, once a day (daily).", []string{"source"}, func(s ingest.Stats, to series) {
			for i, source := range sources {
				to.tell(float64(s.Decided[i][policy.Accept]+s.Released[i]), source)
			}
		}),
		counters(c, "graspd_ingest_events_total", "Events decided, by how they came and by what became of them: unlisted is an announcement that does not list this relay, unrelated what refers to nothing that is here, no-maintainer what speaks for a repository that its author does not maintain here.", []string{"source", "outcome"}, func(s ingest.Stats, to series) {
			for i, source := range sources {
				for o, n := range s.Decided[i] {
					to.tell(float64(n), source, policy.Outcome(o).String())
				}
			}
		}),
		counters(c, "graspd_ingest_refused_total", "Events refused, by what became of them and by the word that the refusal begins with (NIP-01).", []string{"outcome", "prefix"}, func(s ingest.Stats, to series) {
			for o := range s.Refused {
				for i, n := range s.Refused[o] {
					if n > 0 {
						to.tell(float64(n), policy.Outcome(o).String(), ingest.Prefixes[i])
					}
				}
			}
		}),
		histograms(c, "graspd_ingest_seconds", "Time from an event's arrival to its verdict, which for a stored event follows its commit.", []string{"source"}, func(s ingest.Stats, to series) {
			bounds := make([]float64, len(ingest.Latencies))
			for i, d := range ingest.Latencies {
				bounds[i] = d.Seconds()
			}
			for i, source := range sources {
				to.classes(bounds, s.Latency[i].Classes[:], s.Latency[i].Sum.Seconds(), source)
			}
		}),
		counters(c, "graspd_ingest_signatures_total", "Signatures checked.", []string{"result"}, func(s ingest.Stats, to series) {
			to.tell(float64(s.Verified), "genuine")
			to.tell(float64(s.Forged), "forged")
		}),
		counter(c, "graspd_ingest_recognised_total", "Copies of known events, answered without a check of their signature.", func(s ingest.Stats) uint64 { return s.Recognised }),
		counter(c, "graspd_ingest_commits_total", "Batches of events written to the disk.", func(s ingest.Stats) uint64 { return s.Commits }),
		counter(c, "graspd_ingest_commit_failures_total", "Batches of events that could not be written to the disk.", func(s ingest.Stats) uint64 { return s.Failures }),
		counter(c, "graspd_ingest_faults_total", "Events over which this relay failed and that it left out, and pieces of its own work; the log names each. No disk is at fault.", func(s ingest.Stats) uint64 { return s.Faults }),
		gauge(c, "graspd_ingest_waiting_events", "Events that wait for their verification or decision.", func(s ingest.Stats) int { return s.Waiting }),
		gauge(c, "graspd_ingest_orphans", "Events in memory that wait for what they name.", func(s ingest.Stats) int64 { return s.Orphans }),
		gauge(c, "graspd_ingest_orphan_bytes", "About what memory the events take that wait for what they name.", func(s ingest.Stats) int64 { return s.OrphanCost }),
	)
}
