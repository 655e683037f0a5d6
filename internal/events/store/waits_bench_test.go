package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// BenchmarkWaits measures, with 100,000 events that wait, each of another author and source, what one more costs of which the tally is
// asked and the oldest of the largest source ended, beside the same with 1,000; and what opening the store takes.
func BenchmarkWaits(b *testing.B) {
	for b.Loop() { // once is enough
	}
	var each [2]time.Duration
	for i, n := range []int{1000, 100_000} {
		o := store.Options{Dir: "data", FS: vfs.NewMem(), Floor: 1, Now: func() time.Time { return time.Unix(storetest.Start, 0) }}
		s := open(b, o)
		for at := 0; at < n; at += 1000 {
			inBatch(b, s, func(batch *store.Batch) { waitMany(b, batch, at, 1000) })
		}
		store.Compact(s)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		start := cpu()
		s = open(b, o)
		opened := cpu() - start
		b.ReportMetric(float64(opened.Milliseconds()), fmt.Sprintf("ms-open-%d", n))
		const more = 200
		inBatch(b, s, func(batch *store.Batch) {
			start := cpu()
			for j := range more {
				e := waitMany(b, batch, n+j, 1)
				batch.WaitTally(e.PubKey, "")
				w, ok, err := batch.OldestWait(store.WaitsOfLargest, e.PubKey, "")
				if err == nil && ok {
					err = batch.EndWait(w.Event.ID, policy.Lapsed)
				}
				if err != nil || !ok {
					b.Fatal(ok, err)
				}
			}
			each[i] = (cpu() - start) / more
		})
		b.ReportMetric(float64(each[i].Nanoseconds())/1000, fmt.Sprintf("µs-beside-%d", n))
	}
	b.ReportMetric(float64(each[1])/float64(each[0]), "ratio")
}

func waitMany(tb testing.TB, b *store.Batch, from, n int) (e *nostr.Event) {
	for i := from; i < from+n; i++ {
		e = &nostr.Event{PubKey: nostr.PubKey{byte(i), byte(i >> 8), byte(i >> 16)}, CreatedAt: storetest.Start, Kind: 1618}
		e.ID = e.ComputeID()
		if out, err := b.Wait(e, store.Wait{Until: storetest.Start + 60, From: fmt.Sprint("client ", i)}); out != policy.Wait || err != nil {
			tb.Fatal(out, err)
		}
	}
	return e
}

func inBatch(tb testing.TB, s *store.Store, do func(*store.Batch)) {
	b, err := s.Begin()
	if err != nil {
		tb.Fatal(err)
	}
	defer b.Discard()
	do(b)
	if _, err := b.Commit(); err != nil {
		tb.Fatal(err)
	}
}
