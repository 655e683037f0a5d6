package relay_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestIndexAgainstNaiveMatching compares what the index finds with what each filter says of itself, while
// subscriptions come and go.
func TestIndexAgainstNaiveMatching(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			m := relay.NewMatcher()
			subs := map[int][]nostr.Filter{}
			matched := 0
			for step := range 2000 {
				switch n := r.IntN(40); {
				case r.IntN(3) > 0:
					e := randomEvent(r)
					want := naive(subs, e)
					got := m.Match(e)
					if !maps.Equal(got, want) {
						t.Fatalf("step %d: event %s\ntold %v, want %v", step, e.AppendJSON(nil), got, want)
					}
					matched += len(want)
				case subs[n] != nil:
					m.Remove(n)
					delete(subs, n)
				default:
					for range 1 + r.IntN(3) {
						subs[n] = append(subs[n], randomFilter(r))
					}
					m.Add(n, subs[n])
				}
			}
			for n := range subs {
				m.Remove(n)
			}
			if m.Size() != 0 {
				t.Errorf("%d places are left in an index without subscriptions", m.Size())
			}
			if matched < 500 {
				t.Errorf("only %d matches: the test says little", matched)
			}
		})
	}
}

func naive(subs map[int][]nostr.Filter, e *nostr.Event) map[int]int {
	told := map[int]int{}
	for n, filters := range subs {
		if slices.ContainsFunc(filters, func(f nostr.Filter) bool { return f.Matches(e) }) {
			told[n] = 1
		}
	}
	return told
}

// Events and filters are drawn from few values, so that they meet.

func some[T any](r *rand.Rand, most int, draw func() T) []T {
	list := []T{}
	for range r.IntN(most + 1) {
		list = append(list, draw())
	}
	return list
}

func randomKey(r *rand.Rand) nostr.PubKey { return key(byte(r.IntN(4))) }
func randomKind(r *rand.Rand) nostr.Kind  { return nostr.Kind(r.IntN(4)) }
func randomTime(r *rand.Rand) int64       { return 100 + r.Int64N(5) }
func randomValue(r *rand.Rand) string     { return string('a' + rune(r.IntN(4))) }
func randomName(r *rand.Rand) byte        { return "aAde"[r.IntN(4)] }

func randomEvent(r *rand.Rand) *nostr.Event {
	var tags nostr.Tags
	for range r.IntN(8) {
		tag := nostr.Tag{string(randomName(r)), randomValue(r), randomValue(r)}
		switch r.IntN(8) {
		case 0:
			tag = tag[:1]
		case 1:
			tag[0] += "x"
		}
		tags = append(tags, tag)
	}
	e := &nostr.Event{PubKey: randomKey(r), Kind: randomKind(r), CreatedAt: randomTime(r), Tags: tags}
	e.ID = nostr.ID(randomKey(r))
	return e
}

func randomFilter(r *rand.Rand) (f nostr.Filter) {
	if r.IntN(5) == 0 {
		f.IDs = some(r, 3, func() nostr.ID { return nostr.ID(randomKey(r)) })
	}
	if r.IntN(3) == 0 {
		f.Authors = some(r, 3, func() nostr.PubKey { return randomKey(r) })
	}
	if r.IntN(2) == 0 {
		f.Kinds = some(r, 3, func() nostr.Kind { return randomKind(r) })
	}
	for _, name := range []byte("aAde") {
		if r.IntN(4) == 0 {
			f.Tags = append(f.Tags, nostr.TagFilter{Name: name, Values: some(r, 4, func() string { return randomValue(r) })})
		}
	}
	if r.IntN(5) == 0 {
		at := randomTime(r)
		f.Since = &at
	}
	if r.IntN(5) == 0 {
		at := randomTime(r)
		f.Until = &at
	}
	return f
}
