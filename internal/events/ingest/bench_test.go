package ingest_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// corpora are about n events as git relays have them, parsed as they come, and signed only where that is asked for.
func corpora(tb testing.TB, n int, sign bool) []*nostr.Event {
	tb.Helper()
	o := testkit.Usual(n, "wss://"+domain)
	if !sign {
		o.Sign = testkit.Unsigned
	}
	events, err := testkit.Parsed(o)
	if err != nil {
		tb.Fatal(err)
	}
	return events
}

// believing takes every signature for genuine.
type believing struct{}

func (believing) Verify(nostr.PubKey, nostr.ID, nostr.Sig) bool { return true }

// cost is what something took in all.
type cost struct {
	wall, cpu time.Duration
	bytes     uint64
}

func measure(do func()) cost {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	bytes, cpu, start := m.TotalAlloc, spent(), time.Now()
	do()
	c := cost{wall: time.Since(start), cpu: spent() - cpu}
	runtime.ReadMemStats(&m)
	c.bytes = m.TotalAlloc - bytes
	return c
}

func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (c *cost) add(d cost) {
	c.wall += d.wall
	c.cpu += d.cpu
	c.bytes += d.bytes
}

// BenchmarkDoor measures events of one relay through the door with a store on disk, and the mere check of the same
// events on all cores in the same run: the ratio says what the door leaves of the machine.
func BenchmarkDoor(b *testing.B) {
	events := corpora(b, 10_000, true)
	var alone, door cost
	n := 0
	for b.Loop() {
		alone.add(measure(func() { verifyAlone(b, events, nostr.Schnorr{}) }))
		door.add(measure(func() { throughDoor(b, events, nil) }))
		alone.add(measure(func() { verifyAlone(b, events, nostr.Schnorr{}) }))
		n += len(events)
	}
	report(b, n, door)
	b.ReportMetric(alone.wall.Seconds()/2/door.wall.Seconds(), "ratio")
	b.ReportMetric(alone.cpu.Seconds()/2/door.cpu.Seconds(), "cpu-ratio")
}

// BenchmarkBesideSignatures measures what an event costs through the door beside the check of its signature.
func BenchmarkBesideSignatures(b *testing.B) {
	events, genuine := corpora(b, 40_000, false), corpora(b, 1000, true)
	var check, door cost
	n := 0
	for b.Loop() {
		check.add(measure(func() { verifyAlone(b, genuine, nostr.Schnorr{}) }))
		door.add(measure(func() { throughDoor(b, events, believing{}) }))
		check.add(measure(func() { verifyAlone(b, genuine, nostr.Schnorr{}) }))
		n += len(events)
	}
	report(b, n, door)
	each := check.cpu.Seconds() / float64(2*b.N*len(genuine))
	b.ReportMetric(door.cpu.Seconds()/float64(n)/each, "of-check")
}

func report(b *testing.B, n int, c cost) {
	b.ReportMetric(float64(n)/c.wall.Seconds(), "events/s")
	b.ReportMetric(c.cpu.Seconds()*1e6/float64(n), "cpu-µs/event")
	b.ReportMetric(float64(c.bytes)/float64(n), "B/event")
}

func verifyAlone(b *testing.B, events []*nostr.Event, v nostr.Verifier) {
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for i := range workers {
		wg.Go(func() {
			for j := i; j < len(events); j += workers {
				if err := nostr.Check(events[j], v); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// throughDoor brings events as they come from one other relay. All but the few that name something before it is here
// are stored.
func throughDoor(b *testing.B, events []*nostr.Event, v nostr.Verifier) {
	service, err := grasp.ParseService(domain)
	if err != nil {
		b.Fatal(err)
	}
	now := func() time.Time { return time.Unix(testkit.Until, 0) }
	st, err := store.Open(store.Options{Dir: b.TempDir(), Floor: 1, Now: now})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	d := ingest.New(ingest.Config{Store: st, Rules: policy.Rules{Service: service}, Verifier: v, Now: now})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	defer running.Wait()
	defer cancel()
	s := d.Source(ingest.SourceConfig{Label: "a"})
	var last sync.WaitGroup
	var refused atomic.Int64
	reply := func(v policy.Verdict) {
		if v.Outcome != policy.Accept {
			refused.Add(1)
		}
		last.Done()
	}
	for _, e := range events {
		last.Add(1)
		if err := s.Submit(ctx, e, store.Catchup, reply); err != nil {
			b.Fatal(err)
		}
	}
	last.Wait()
	if n := refused.Load(); n > int64(len(events))/20 {
		b.Errorf("%d of %d were refused", n, len(events))
	}
}
