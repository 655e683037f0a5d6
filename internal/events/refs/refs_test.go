package refs_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func TestNewSet(t *testing.T) {
	in := []refs.Ref{{"refs/tags/v", oid("1")}, {"refs/heads/b", oid("2")}, {"refs/heads/a", oid("3")}, {"refs/heads/b", oid("4")}}
	before := slices.Clone(in)
	s := refs.NewSet(in)
	if want := (refs.Set{in[2], in[1], in[0]}); !s.Equal(want) {
		t.Errorf("got %v", s)
	}
	if !slices.Equal(in, before) {
		t.Error("what it was given is sorted")
	}
	if s.Get("refs/heads/b") != oid("2") || !s.Get("refs/heads/c").IsZero() || !s.Get("").IsZero() || !refs.Set(nil).Get("x").IsZero() {
		t.Error("wrong objects")
	}
}

// naive is a set as a map.
func naive(s refs.Set) map[string]gitwire.ObjectID {
	m := map[string]gitwire.ObjectID{}
	for _, r := range s {
		m[r.Name] = r.ID
	}
	return m
}

// randomSet has some of n names at some of k objects.
func randomSet(r *rand.Rand, n, k int) refs.Set {
	var list []refs.Ref
	for i := range n {
		if r.IntN(3) > 0 {
			list = append(list, refs.Ref{Name: randomName(i), ID: oid(fmt.Sprint(1 + r.IntN(k)))})
		}
	}
	return refs.NewSet(list)
}

func randomName(i int) string {
	return []string{"refs/heads/", "refs/tags/", "refs/heads/a/", "refs/heads/a-"}[i%4] + string(rune('a'+i/4))
}

func TestSetsLikeMaps(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b := randomSet(r, 8, 3), randomSet(r, 8, 3)
		if !slices.IsSortedFunc(a, func(x, y refs.Ref) int { return compare(x.Name, y.Name) }) {
			t.Fatalf("seed %d: %v is not sorted", seed, a)
		}
		if a.Equal(b) != maps.Equal(naive(a), naive(b)) {
			t.Fatalf("seed %d: %v equal to %v", seed, a, b)
		}
		var changes refs.Set
		after := naive(a)
		for i := range 8 {
			if n := r.IntN(4); n == 0 {
				name, to := randomName(i), oid([]string{"", "1", "2"}[r.IntN(3)])
				changes = append(changes, refs.Ref{Name: name, ID: to})
				after[name] = to
				if to.IsZero() {
					delete(after, name)
				}
			}
		}
		got := refs.With(a, refs.NewSet(changes))
		if !maps.Equal(naive(got), after) || len(got) != len(after) {
			t.Fatalf("seed %d: %v with %v is %v", seed, a, changes, got)
		}
		differ := map[string]bool{}
		for _, n := range slices.Concat(a, b) {
			if a.Get(n.Name) != b.Get(n.Name) {
				differ[n.Name] = true
			}
		}
		names, all := refs.Differences(a, b, 2)
		sorted := slices.Sorted(maps.Keys(differ))
		if all != len(differ) || !slices.Equal(names, sorted[:min(2, len(sorted))]) {
			t.Fatalf("seed %d: %v and %v differ in %v, %d", seed, a, b, names, all)
		}
	}
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
