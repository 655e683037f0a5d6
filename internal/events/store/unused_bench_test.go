package store_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// BenchmarkUnusedDeletions measures what the store takes on disk for a deletion request whose target never comes: while it is served, once
// it only keeps away, and once its time is over. Each is as clients make them: one e tag, one k tag, a signature.
func BenchmarkUnusedDeletions(b *testing.B) {
	const n, authors = 10_000, 20
	for range b.N {
		now := int64(1_800_000_000)
		o := store.Options{Dir: b.TempDir(), Now: func() time.Time { return time.Unix(now, 0) }}
		s, err := store.Open(o)
		if err != nil {
			b.Fatal(err)
		}
		batch := func(do func(t *store.Batch) error) {
			t, err := s.Begin()
			if err == nil {
				err = do(t)
			}
			if err == nil {
				_, err = t.Commit()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		size := func() float64 {
			if err = s.Close(); err == nil { // removals are told of until then
				s, err = store.Open(o)
			}
			if err != nil {
				b.Fatal(err)
			}
			store.Compact(s)
			return float64(store.TableBytes(s))
		}
		empty := size()
		for from := 0; from < n; from += 1000 {
			batch(func(t *store.Batch) error {
				for i := from; i < from+1000; i++ {
					target := sha256.Sum256(fmt.Append(nil, "target", i))
					e := &nostr.Event{PubKey: nostr.PubKey(sha256.Sum256(fmt.Append(nil, "author", i%authors))), CreatedAt: now - int64(i), Kind: nostr.KindDeletion,
						Tags: nostr.Tags{{"e", nostr.ID(target).String()}, {"k", "1"}}}
					e.ID = e.ComputeID()
					first, second := sha256.Sum256(e.ID[:]), sha256.Sum256(target[:])
					copy(e.Sig[:], append(first[:], second[:]...))
					if _, err := t.Add(e, store.Catchup); err != nil {
						return err
					}
				}
				return nil
			})
		}
		b.ReportMetric((size()-empty)/n, "B/served")
		for _, unit := range []string{"B/gate", "B/over"} {
			now += 200 * 24 * 3600
			for more := true; more; {
				batch(func(t *store.Batch) error {
					_, n, err := t.AgeDue(time.Unix(now, 0), 1000)
					if more = n == 1000; err != nil || more {
						return err
					}
					more, err = t.SweepMarks(time.Unix(now, 0), 1000)
					return err
				})
			}
			for i := range n/1000 + 1 { // forgets what is due, some with each commit
				batch(func(t *store.Batch) error { return t.SetRow(fmt.Sprint("x", i), []byte{1}) })
			}
			b.ReportMetric((size()-empty)/n, unit)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
