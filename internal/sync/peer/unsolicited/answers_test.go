package unsolicited

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// What answers a filter is told as by the filter itself, with tags looked up by how their values begin, whatever their name.
func TestAnswersAreThoseOfTheFilter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	some := func(n int) (out []string) {
		for range n {
			out = append(out, strings.Repeat(fmt.Sprint(rnd.IntN(4)), rnd.IntN(4)))
		}
		return out
	}
	yes := 0
	for range 20_000 {
		var f nostr.Filter
		for range rnd.IntN(3) {
			f.Tags = append(f.Tags, nostr.TagFilter{Name: "aeq"[rnd.IntN(3)], Values: some(1 + rnd.IntN(5))})
		}
		if rnd.IntN(2) == 0 {
			f.Kinds = []nostr.Kind{nostr.Kind(rnd.IntN(2))}
		}
		if rnd.IntN(2) == 0 {
			f.Since = new(int64(rnd.IntN(3)))
		}
		e := &nostr.Event{Kind: nostr.Kind(rnd.IntN(2)), CreatedAt: int64(rnd.IntN(3))}
		for range rnd.IntN(4) {
			e.Tags = append(e.Tags, append(nostr.Tag{[]string{"a", "e", "alt"}[rnd.IntN(3)]}, some(rnd.IntN(3))...))
		}
		near := f.Kinds == nil || f.Kinds[0] == e.Kind
		for _, tf := range f.Tags {
			near = near && slices.ContainsFunc(e.Tags, func(tag nostr.Tag) bool {
				return len(tag) > 1 && len(tag[0]) == 1 && slices.ContainsFunc(tf.Values, func(v string) bool { return strings.HasPrefix(tag[1], v) })
			})
		}
		a := newAnswers([]nostr.Filter{f})[0]
		if a.near(e) != near || a.within(e) != (f.Since == nil || *f.Since <= e.CreatedAt) {
			t.Fatalf("%s and %s: near %v", f.AppendJSON(nil), e.AppendJSON(nil), !near)
		}
		if near {
			yes++
		}
	}
	if yes < 1000 {
		t.Errorf("%d events answer", yes)
	}
}

// Filters that ask for one list under several tags keep it once, and nothing of its text.
func TestAnswersShareTheirValues(t *testing.T) {
	list, other := []string{"x", "y"}, []string{"x", "z"}
	a := newAnswers([]nostr.Filter{
		{Tags: []nostr.TagFilter{{Name: 'e', Values: list}}}, {Tags: []nostr.TagFilter{{Name: 'E', Values: list}}},
		{Tags: []nostr.TagFilter{{Name: 'q', Values: other}}}, {Tags: []nostr.TagFilter{{Name: 'q', Values: list[:1]}}},
	})
	if a[0].tags[0] != a[1].tags[0] || a[0].tags[0] == a[2].tags[0] || a[0].tags[0] == a[3].tags[0] {
		t.Error("other lists are taken for one")
	}
	for _, x := range a {
		if x.tags[0].of != nil || x.rest.Tags != nil {
			t.Error("the text is kept")
		}
	}
}

func BenchmarkAnswers(b *testing.B) {
	var list []string
	for i := range 2500 {
		list = append(list, fmt.Sprintf("%064x", i*7919))
	}
	a := newAnswers([]nostr.Filter{{Tags: []nostr.TagFilter{{Name: 'e', Values: list}}}})[0]
	e := &nostr.Event{Tags: nostr.Tags{{"p", strings.Repeat("f", 64)}, {"k", "1621"}, {"E", fmt.Sprintf("%064x", 1)}, {"e", list[2499]}}}
	for b.Loop() {
		if !a.near(e) {
			b.Fatal("it does not answer")
		}
	}
}
