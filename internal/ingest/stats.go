package ingest

import (
	"sync/atomic"

	"graspd/internal/policy"
	"graspd/internal/store"
)

// Sources and Outcomes are the sizes of Stats.Decided.
const (
	Sources  = int(store.Daily) + 1
	Outcomes = int(policy.Failed) + 1
)

// Stats are counts since the Door was built.
type Stats struct {
	Decided    [Sources][Outcomes]uint64 // verdicts told, by store.Source and policy.Outcome
	Verified   uint64                    // signatures checked and genuine
	Forged     uint64                    // ids or signatures checked and wrong
	Recognised uint64                    // copies answered without a check of their signature
	Commits    uint64                    // batches made durable
	Failures   uint64                    // batches that could not be
	Orphans    int64                     // events in the orphan buffer now
	OrphanCost int64                     // about what they take of memory, in bytes
}

// counters are written by the verifiers and the writer, and read by anybody.
type counters struct {
	verdicts   [Sources][Outcomes]atomic.Uint64
	verified   atomic.Uint64
	forged     atomic.Uint64
	recognised atomic.Uint64
	commits    atomic.Uint64
	failures   atomic.Uint64
	orphans    atomic.Int64
	orphanCost atomic.Int64
}

func (c *counters) decided(from store.Source, o policy.Outcome) {
	if int(from) < Sources && int(o) < Outcomes {
		c.verdicts[from][o].Add(1)
	}
}

func (c *counters) hold(orphans, cost int) {
	c.orphans.Store(int64(orphans))
	c.orphanCost.Store(int64(cost))
}

// Stats reads the counters, each by itself.
func (d *Door) Stats() Stats {
	c := &d.counts
	s := Stats{
		Verified: c.verified.Load(), Forged: c.forged.Load(), Recognised: c.recognised.Load(),
		Commits: c.commits.Load(), Failures: c.failures.Load(),
		Orphans: c.orphans.Load(), OrphanCost: c.orphanCost.Load(),
	}
	for i := range c.verdicts {
		for j := range c.verdicts[i] {
			s.Decided[i][j] = c.verdicts[i][j].Load()
		}
	}
	return s
}
