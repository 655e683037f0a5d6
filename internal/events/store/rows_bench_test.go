package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// rowsOf10kB are values of rows as large as the refs of a repository with some 150 of them are, which do not shrink.
func rowsOf10kB(n int) (names []string, values [][]byte) {
	r := rand.NewChaCha8([32]byte{1})
	for i := range n {
		value := make([]byte, 10_000)
		r.Read(value)
		names, values = append(names, fmt.Sprint("repository/", i)), append(values, value)
	}
	return names, values
}

// BenchmarkRows measures a commit of one event with a row of 10 kB, one of a thousand, beside one without: on the disk, the merging of
// tables included.
func BenchmarkRows(b *testing.B) {
	const commits = 2000
	events := corpora()[:commits]
	names, values := rowsOf10kB(1000)
	var busy, took [2]time.Duration
	var disk [2]uint64
	n := 0
	for b.Loop() {
		for with := range 2 {
			s, err := store.Open(store.Options{Dir: b.TempDir(), Floor: 1, Now: func() time.Time { return time.Unix(testkit.Until, 0) }})
			if err != nil {
				b.Fatal(err)
			}
			before, start := cpu(), time.Now()
			for i, e := range events {
				commitWithRow(b, s, e, with == 1, names[i*7919%len(names)], values[i%len(values)])
			}
			took[with] += time.Since(start)
			disk[with] = s.Stats().DiskBytes
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			busy[with] += cpu() - before
		}
		n += commits
	}
	for i, what := range []string{"without", "with"} {
		b.ReportMetric(float64(busy[i].Microseconds())/float64(n), "cpu-µs/"+what)
		b.ReportMetric(float64(took[i].Microseconds())/float64(n), "µs/"+what)
		b.ReportMetric(float64(disk[i])/commits, "disk-B/"+what)
	}
	b.ReportMetric(float64(busy[1])/float64(busy[0]), "cpu-ratio")
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
}

// commitWithRow reads the row and writes another value, as who keeps the refs of a repository does.
func commitWithRow(tb testing.TB, s *store.Store, e *nostr.Event, with bool, name string, value []byte) {
	b, err := s.Begin()
	if err != nil {
		tb.Fatal(err)
	}
	defer b.Discard()
	if _, err := b.Add(e, store.Live); err != nil {
		tb.Fatal(err)
	}
	if with {
		if _, err := b.Row(name); err != nil {
			tb.Fatal(err)
		}
		if err := b.SetRow(name, value); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := b.Commit(); err != nil {
		tb.Fatal(err)
	}
}
