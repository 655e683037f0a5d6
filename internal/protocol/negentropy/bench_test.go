package negentropy_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/negentropy"
)

const benchItems = 150_000

func benchSets(who overlap) (client, server []negentropy.Item) {
	return randomSets(seeded(1), benchItems, clocks["spread"], who)
}

func BenchmarkNewSet(b *testing.B) {
	shuffled, _ := benchSets(overlaps["equal"])
	sealed := negentropy.NewSet(slices.Clone(shuffled))
	sorted := make([]negentropy.Item, sealed.Len())
	for i := range sorted {
		sorted[i] = sealed.At(i)
	}
	newest := slices.Clone(sorted)
	slices.Reverse(newest)
	for _, c := range []struct {
		name  string
		items []negentropy.Item
	}{{"sorted", sorted}, {"newest first", newest}, {"shuffled", shuffled}} {
		b.Run(c.name, func(b *testing.B) {
			items := make([]negentropy.Item, len(c.items))
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				copy(items, c.items)
				b.StartTimer()
				negentropy.NewSet(items)
			}
		})
	}
}

func BenchmarkReconcile(b *testing.B) {
	onePercent := func(r *rand.Rand, _ int) (bool, bool) { k := r.IntN(200); return k != 0, k != 1 }
	for _, c := range []struct {
		name  string
		who   overlap
		limit int
	}{{"equal", overlaps["equal"], 0}, {"1% differ", onePercent, 0}, {"1% differ, frames of 60000", onePercent, 60_000}} {
		client, server := benchSets(c.who)
		own, theirs := negentropy.NewSet(client), negentropy.NewSet(server)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				o := reconcile(b, own, theirs, c.limit, c.limit)
				b.ReportMetric(float64(o.rounds), "rounds")
				b.ReportMetric(float64(o.sent), "bytes")
			}
		})
	}
}

// BenchmarkFingerprint takes the fingerprint of a range of any extent.
func BenchmarkFingerprint(b *testing.B) {
	items, _ := benchSets(overlaps["equal"])
	s := negentropy.NewSet(items)
	for b.Loop() {
		s.Fingerprint(7, s.Len()-7)
	}
}
