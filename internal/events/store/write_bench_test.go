package store_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// written is how many events BenchmarkWrite writes: enough for tables to be merged.
const written = 60_000

// parsed are about n events as git relays have them, parsed as they come, and signed only where that is asked for.
func parsed(n int, sign bool) []*nostr.Event {
	o := testkit.Usual(n, "wss://relay.example.org")
	if !sign {
		o.Sign = testkit.Unsigned
	}
	events, err := testkit.Parsed(o)
	if err != nil {
		panic(err)
	}
	return events
}

var (
	corpora  = sync.OnceValue(func() []*nostr.Event { return parsed(written, false) })
	verified = sync.OnceValue(func() []*nostr.Event { return parsed(1000, true) })
)

// checkCPU is what the check of one event takes of a processor now.
func checkCPU(tb testing.TB) time.Duration {
	events, before := verified(), cpu()
	for _, e := range events {
		if err := nostr.Check(e, nostr.Schnorr{}); err != nil {
			tb.Fatal(err)
		}
	}
	return (cpu() - before) / time.Duration(len(events))
}

// writeAll adds what the store's rules take, in batches of 500.
func writeAll(tb testing.TB, s *store.Store, events []*nostr.Event) {
	for lot := range slices.Chunk(events, 500) {
		b, err := s.Begin()
		if err != nil {
			tb.Fatal(err)
		}
		for _, e := range lot {
			if _, err := b.Add(e, store.Catchup); err != nil {
				tb.Fatal(err)
			}
		}
		if _, err := b.Commit(); err != nil {
			tb.Fatal(err)
		}
	}
	if n := s.Stats().Events; n < int64(len(events))*95/100 {
		tb.Fatalf("%d of %d events were stored", n, len(events))
	}
}

// BenchmarkWrite measures what a stored event costs on the disk, the merging of tables and the end of the store
// included, beside the check of an event in the same run.
func BenchmarkWrite(b *testing.B) {
	events := corpora()
	var spent, check time.Duration
	var allocated, disk uint64
	n := 0
	for b.Loop() {
		check += checkCPU(b)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		before, bytes := cpu(), m.TotalAlloc
		s, err := store.Open(store.Options{Dir: b.TempDir(), Floor: 1, Now: func() time.Time { return time.Unix(testkit.Until, 0) }})
		if err != nil {
			b.Fatal(err)
		}
		writeAll(b, s, events)
		disk = s.Stats().DiskBytes
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		spent += cpu() - before
		runtime.ReadMemStats(&m)
		allocated += m.TotalAlloc - bytes
		check += checkCPU(b)
		n++
	}
	each := spent / time.Duration(n*len(events))
	check /= time.Duration(2 * n)
	b.ReportMetric(float64(each.Nanoseconds())/1000, "cpu-µs/event")
	b.ReportMetric(float64(check.Nanoseconds())/1000, "check-µs/event")
	b.ReportMetric(float64(each)/float64(check), "of-check")
	b.ReportMetric(float64(disk)/float64(len(events)), "disk-B/event")
	b.ReportMetric(float64(allocated)/float64(n*len(events)), "B/event")
}

// BenchmarkIDs measures what an event costs that is asked for by its id, 500 at a time out of everything, of a store on
// the disk whose events do not fit into its cache, beside the check of an event in the same run.
func BenchmarkIDs(b *testing.B) {
	events := corpora()
	s := open(b, store.Options{Dir: b.TempDir(), Floor: 1, CacheBytes: 8 << 20, Now: func() time.Time { return time.Unix(testkit.Until, 0) }})
	writeAll(b, s, events)
	store.Compact(s)
	v := s.View()
	defer v.Close()
	var spent, check time.Duration
	n := 0
	for i := 0; b.Loop(); i++ {
		f := nostr.Filter{}
		for j := range 500 {
			f.IDs = append(f.IDs, events[(i+j*(len(events)/500))%len(events)].ID)
		}
		before := cpu()
		for _, err := range v.Query(b.Context(), f) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		spent += cpu() - before
		if i%10 == 0 {
			check += checkCPU(b) * 10
		}
	}
	each := spent / time.Duration(n)
	check /= time.Duration((b.N + 9) / 10 * 10)
	b.ReportMetric(float64(each.Nanoseconds())/1000, "cpu-µs/event")
	b.ReportMetric(float64(each)/float64(check), "of-check")
}
