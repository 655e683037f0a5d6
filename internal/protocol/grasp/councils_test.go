package grasp_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestCouncils: everybody's council is what Maintainers says of his repository alone.
func TestCouncils(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	shared := 0
	for range 2000 {
		n := 1 + r.IntN(9)
		var same []*nip34.Announcement
		for i := range n {
			var others []string
			for j := range n + 2 {
				if r.IntN(3) == 0 {
					others = append(others, fmt.Sprint(j))
				}
			}
			a := ann(fmt.Sprint(i), others...)
			a.Fork = r.IntN(6) == 0
			if r.IntN(8) == 0 {
				role(a, 'M', fmt.Sprint(r.IntN(n)), r.IntN(2) == 0)
			}
			same = append(same, a)
		}
		g := newFamily(same)
		c := g.Councils()
		seen := make(map[*grasp.Set]bool)
		for _, i := range r.Perm(n + 3) {
			author := key(fmt.Sprint(i))
			want, got := g.Maintainers(author), c.Of(author)
			slices.SortFunc(want.Members, nostr.PubKey.Compare)
			if !slices.Equal(got.Members, want.Members) || !slices.Equal(got.Invited, want.Invited) {
				t.Fatalf("council of %d: %d members and %d invited, not %d and %d", i, len(got.Members), len(got.Invited), len(want.Members), len(want.Invited))
			}
			if seen[got] {
				shared++
			}
			seen[got] = true
		}
	}
	if shared < 1000 {
		t.Errorf("only %d were shared", shared)
	}
}

// TestACliqueHasOneCouncil: a thousand who are all bound to each other cost one question.
func TestACliqueHasOneCouncil(t *testing.T) {
	var same []*nip34.Announcement
	for i := range 1000 {
		var others []string
		for k := 1; k <= grasp.MaxMaintainers/2; k++ {
			others = append(others, fmt.Sprint((i+k)%1000), fmt.Sprint((i+1000-k)%1000))
		}
		same = append(same, ann(fmt.Sprint(i), others...))
	}
	c := newFamily(same).Councils()
	first := c.Of(same[0].Address.PubKey)
	for _, a := range same {
		if c.Of(a.Address.PubKey) != first {
			t.Fatalf("%v has a council of his own", a.Address)
		}
	}
	if len(first.Members) != 1000 {
		t.Errorf("%d members", len(first.Members))
	}
}
