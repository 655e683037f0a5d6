package plan

import (
	"math/rand/v2"
	"testing"
)

func TestItemSets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var s itemSet
	for it := range Item(10 * setPage) {
		s.put(it)
	}
	for it := range Item(10 * setPage) {
		s.drop(it)
	}
	if len(s.pages) > 0 {
		t.Errorf("%d pages of nothing", len(s.pages))
	}
	var b bag
	naive, counts := make(map[Item]bool), make(map[Item]int)
	for range 20_000 {
		it := Item(r.IntN(600)) * Item(1+r.IntN(3))
		switch r.IntN(4) {
		case 0:
			if s.put(it) == naive[it] {
				t.Fatalf("put(%d) of a set that has it: %v", it, naive[it])
			}
			naive[it] = true
		case 1:
			if s.drop(it) != naive[it] {
				t.Fatalf("drop(%d) of a set that has it: %v", it, naive[it])
			}
			delete(naive, it)
		case 2:
			if b.add(it) != (counts[it] == 0) {
				t.Fatalf("add(%d) at a count of %d", it, counts[it])
			}
			counts[it]++
		default:
			if b.sub(it) != (counts[it] == 1) {
				t.Fatalf("sub(%d) at a count of %d", it, counts[it])
			}
			if counts[it]--; counts[it] <= 0 {
				delete(counts, it)
			}
		}
		if s.has(it) != naive[it] || s.n != len(naive) || b.has(it) != (counts[it] > 0) || b.n != len(counts) {
			t.Fatalf("after item %d: %d of %d, %d of %d", it, s.n, len(naive), b.n, len(counts))
		}
	}
}
