package ingest

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
)

// Sources, Outcomes and the number of Prefixes are the sizes of the arrays in Stats.
const (
	Sources  = int(store.Daily) + 1
	Outcomes = int(policy.Failed) + 1
)

// Prefixes are the words that a refusal may begin with (NIP-01); the last stands for all others.
var Prefixes = [...]string{"blocked", "invalid", "restricted", "auth-required", "pow", "rate-limited", "duplicate", "error", "other"}

// Latencies are the upper bounds of the classes in which Stats counts how long events take from their arrival to their verdict. One more
// class has no bound.
var Latencies = [...]time.Duration{
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, time.Second, 5 * time.Second, 30 * time.Second,
}

// Latency counts the events of one source by how long they took.
type Latency struct {
	Classes [len(Latencies) + 1]uint64
	Sum     time.Duration
}

// Stats are counts since the Door was built.
type Stats struct {
	Decided    [Sources][Outcomes]uint64       // verdicts told, by store.Source and policy.Outcome
	Refused    [Outcomes][len(Prefixes)]uint64 // verdicts that are no OK, by policy.Outcome and what the text begins with
	Latency    [Sources]Latency                // how long verdicts took, by store.Source
	Verified   uint64                          // signatures checked and genuine
	Forged     uint64                          // ids or signatures checked and wrong
	Recognised uint64                          // copies answered without a check of their signature
	Commits    uint64                          // batches made durable
	Failures   uint64                          // batches dropped because of a failure of the disk
	Faults     uint64                          // events, and steps of chores, over which the writer failed and that it left out
	Waiting    int                             // events submitted, and not taken by the writer yet
	Orphans    int64                           // events in the orphan buffer now
	OrphanCost int64                           // about the memory that these take, in bytes
	Released   [Sources]uint64                 // waiting events that became served, as their git data came, by store.Source
	Lapsed     uint64                          // waiting events whose git data did not come in time
}

// counters has the counts of Stats. The verifiers and the writer write them, and anybody reads them.
type counters struct {
	verdicts   [Sources][Outcomes]atomic.Uint64
	refused    [Outcomes][len(Prefixes)]atomic.Uint64
	latency    [Sources]latency
	verified   atomic.Uint64
	forged     atomic.Uint64
	recognised atomic.Uint64
	commits    atomic.Uint64
	failures   atomic.Uint64
	faults     atomic.Uint64
	orphans    atomic.Int64
	orphanCost atomic.Int64
	released   [Sources]atomic.Uint64
	lapsed     atomic.Uint64
}

type latency struct {
	classes [len(Latencies) + 1]atomic.Uint64
	sum     atomic.Int64
}

func (l *latency) add(d time.Duration) {
	class := 0
	for class < len(Latencies) && d > Latencies[class] {
		class++
	}
	l.classes[class].Add(1)
	l.sum.Add(int64(d))
}

// countVerdict counts a verdict that is told, and how long it took from the event's arrival.
func (c *counters) countVerdict(from store.Source, v policy.Verdict, took time.Duration) {
	if int(from) >= Sources || int(v.Outcome) >= Outcomes {
		return
	}
	c.verdicts[from][v.Outcome].Add(1)
	c.latency[from].add(took)
	if !v.OK() {
		c.refused[v.Outcome][prefixOf(v.Reason)].Add(1)
	}
}

// prefixOf returns the index in Prefixes of the word with which a refusal begins.
func prefixOf(reason string) int {
	word, _, _ := strings.Cut(reason, ":")
	for i, p := range Prefixes {
		if word == p {
			return i
		}
	}
	return len(Prefixes) - 1
}

// setOrphans notes how many orphans the buffer has, and their cost in bytes.
func (c *counters) setOrphans(orphans, cost int) {
	c.orphans.Store(int64(orphans))
	c.orphanCost.Store(int64(cost))
}

// Stats reads the counters one after the other, so sums over them may be off by what happens meanwhile.
func (d *Door) Stats() Stats {
	c := &d.counts
	s := Stats{
		Verified: c.verified.Load(), Forged: c.forged.Load(), Recognised: c.recognised.Load(),
		Commits: c.commits.Load(), Failures: c.failures.Load(), Faults: c.faults.Load(), Waiting: d.waiting(),
		Orphans: c.orphans.Load(), OrphanCost: c.orphanCost.Load(), Lapsed: c.lapsed.Load(),
	}
	for i := range c.verdicts {
		for j := range c.verdicts[i] {
			s.Decided[i][j] = c.verdicts[i][j].Load()
		}
		for j := range c.latency[i].classes {
			s.Latency[i].Classes[j] = c.latency[i].classes[j].Load()
		}
		s.Latency[i].Sum = time.Duration(c.latency[i].sum.Load())
	}
	for i := range c.released {
		s.Released[i] = c.released[i].Load()
	}
	for i := range c.refused {
		for j := range c.refused[i] {
			s.Refused[i][j] = c.refused[i][j].Load()
		}
	}
	return s
}
