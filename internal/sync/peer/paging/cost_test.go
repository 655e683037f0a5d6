package paging

import (
	"math/rand/v2"
	"testing"
)

// TestPagerCostOfShapes: how many questions 5,000 events take at an honest relay that gives 50 at once, by how their times lie. Each of ten histories
// costs at most so many.
func TestPagerCostOfShapes(t *testing.T) {
	burst := func(n int, apart int64) func(*rand.Rand, int) int64 {
		return func(_ *rand.Rand, i int) int64 { return int64(i/n) * apart }
	}
	scattered := func(n int) func(*rand.Rand, int) int64 {
		return func(_ *rand.Rand, i int) int64 { return rand.New(rand.NewPCG(uint64(i/n), 0)).Int64N(1e7) }
	}
	for _, c := range []struct {
		name string
		at   func(r *rand.Rand, i int) int64
		most int
	}{
		{"evenly", func(_ *rand.Rand, i int) int64 { return int64(10 * i) }, 135},
		{"far apart", func(r *rand.Rand, _ int) int64 { return r.Int64N(1e7) }, 158},
		{"ever denser", func(r *rand.Rand, _ int) int64 { return int64(-1e6 * r.ExpFloat64()) }, 163},
		{"dense", func(r *rand.Rand, _ int) int64 { return r.Int64N(3000) }, 165},
		{"ten a second", burst(10, 1), 173},
		{"thirty a second", burst(30, 1), 173},
		{"ten at once, evenly", burst(10, 1000), 173},
		{"thirty at once, evenly", burst(30, 1000), 505},
		{"five at once, far apart", scattered(5), 228},
		{"ten at once, far apart", scattered(10), 272},
		{"thirty at once, far apart", scattered(30), 435},
	} {
		t.Run(c.name, func(t *testing.T) {
			most := 0
			for seed := range uint64(10) {
				r := rand.New(rand.NewPCG(seed, 80))
				s := &shelf{limit: 50, habit: newestFirst}
				for i := range 5000 {
					s.events = append(s.events, at(uint64(i), 1_700_000_000+c.at(r, i)))
				}
				if p, got := read(t, s, Span{0, Forever}, 3000); len(got) != 5000 || p.Unproven() {
					t.Errorf("received %d of 5000, unproven: %v", len(got), p.Unproven())
				}
				most = max(most, s.pages)
			}
			if most > c.most {
				t.Errorf("%d questions, at most %d", most, c.most)
			}
		})
	}
}
