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

// Bits have what they were made of, and nothing else, however high the numbers that they are asked about.
func TestBits(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for n := range 50 {
		in := make(map[want.Item]bool)
		var items []want.Item
		for range n {
			it := want.Item(r.IntN(1000))
			in[it] = true
			items = append(items, it)
		}
		b := BitsOf(items)
		for it := range want.Item(1200) {
			if b.Has(it) != in[it] {
				t.Fatalf("of %v it has %d: %v", items, it, b.Has(it))
			}
		}
	}
}
