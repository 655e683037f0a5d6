package itemset

import (
	"math/rand/v2"
	"testing"

	"github.com/graspd/graspd/internal/sync/want"
)

func TestItemSets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var s Set
	for it := range want.Item(10 * setPage) {
		s.Put(it)
	}
	for it := range want.Item(10 * setPage) {
		s.Drop(it)
	}
	if len(s.pages) > 0 {
		t.Errorf("%d pages of nothing", len(s.pages))
	}
	var b Bag
	naive, counts := make(map[want.Item]bool), make(map[want.Item]int)
	for range 20_000 {
		it := want.Item(r.IntN(600)) * want.Item(1+r.IntN(3))
		switch r.IntN(4) {
		case 0:
			if s.Put(it) == naive[it] {
				t.Fatalf("put(%d) of a set that has it: %v", it, naive[it])
			}
			naive[it] = true
		case 1:
			if s.Drop(it) != naive[it] {
				t.Fatalf("drop(%d) of a set that has it: %v", it, naive[it])
			}
			delete(naive, it)
		case 2:
			if b.Add(it) != (counts[it] == 0) {
				t.Fatalf("add(%d) at a count of %d", it, counts[it])
			}
			counts[it]++
		default:
			if b.Sub(it) != (counts[it] == 1) {
				t.Fatalf("sub(%d) at a count of %d", it, counts[it])
			}
			if counts[it]--; counts[it] <= 0 {
				delete(counts, it)
			}
		}
		if s.Has(it) != naive[it] || s.n != len(naive) || b.Has(it) != (counts[it] > 0) || b.n != len(counts) {
			t.Fatalf("after item %d: %d of %d, %d of %d", it, s.n, len(naive), b.n, len(counts))
		}
	}
}
