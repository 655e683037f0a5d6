package want

import (
	"math/rand/v2"
	"testing"
)

func TestChunks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var chunks []*chunk
	var naive []Item
	for n := range Item(3000) {
		before, was := chunks, flat(chunks)
		if r.IntN(3) > 0 || len(naive) == 0 {
			chunks, naive = appendRoot(chunks, n), append(naive, n)
		} else {
			i := r.IntN(len(naive))
			chunks = removeRoot(chunks, naive[i])
			naive = append(naive[:i:i], naive[i+1:]...)
		}
		if !same(flat(chunks), naive) {
			t.Fatalf("after %d: %v, want %v", n, flat(chunks), naive)
		}
		if !same(flat(before), was) {
			t.Fatal("a list that was handed out changed")
		}
		if sameChunks(before, chunks) {
			t.Fatal("a change that is not seen")
		}
	}
	if got := removeRoot(chunks, 1<<30); !sameChunks(got, chunks) {
		t.Error("nothing removed makes a new list")
	}
	for _, c := range chunks {
		if len(*c) == 0 {
			t.Error("an empty chunk is kept")
		}
	}
}

func flat(chunks []*chunk) []Item {
	var out []Item
	for _, c := range chunks {
		out = append(out, *c...)
	}
	return out
}

func same(a, b []Item) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
