package testkit_test

import (
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/corpus"
	"github.com/graspd/graspd/internal/test/testkit"
)

func TestUsual(t *testing.T) {
	for _, n := range []int{6, 300} {
		o := testkit.Usual(n, "wss://git.example.org")
		o.Sign = testkit.Unsigned
		made := corpus.Generate(o)
		if len(made.Items) != n {
			t.Errorf("%d events, want %d", len(made.Items), n)
		}
		events, err := testkit.Parsed(o)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) < n*9/10 {
			t.Errorf("%d of %d are held", len(events), n)
		}
		i := 0
		for e := range made.Events(corpus.Served) {
			p := events[i]
			if i++; p.ID != e.ID || p.ID != p.ComputeID() || p.Sig != (nostr.Sig{}) || p.CreatedAt > testkit.Until {
				t.Fatalf("%+v, made from %+v", p, e)
			}
		}
	}
}
