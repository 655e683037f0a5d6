package nostr_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestMatches(t *testing.T) {
	e := &nostr.Event{ID: nostr.ID(unhex(t, hexA)), PubKey: nostr.PubKey(unhex(t, hexB)), CreatedAt: 100, Kind: 1621,
		Tags: nostr.Tags{{}, {"a"}, {"A", "root"}, {"t", "one", "two"}, {"t", "three"}, {"d", ""}, {"relays", "r1"}, {"e", hexB}}}
	tests := []struct {
		filter string
		want   bool
	}{
		{`{}`, true},
		{`{"ids":["` + hexA + `"]}`, true},
		{`{"ids":["` + hexB + `","` + hexA + `"]}`, true},
		{`{"ids":["` + hexB + `"]}`, false},
		{`{"ids":[]}`, false},
		{`{"authors":["` + hexB + `"]}`, true},
		{`{"authors":["` + hexA + `"]}`, false},
		{`{"authors":[]}`, false},
		{`{"kinds":[1,1621]}`, true},
		{`{"kinds":[1]}`, false},
		{`{"kinds":[]}`, false},
		{`{"since":100}`, true},
		{`{"since":101}`, false},
		{`{"until":100}`, true},
		{`{"until":99}`, false},
		{`{"since":100,"until":100}`, true},
		{`{"since":101,"until":99}`, false},
		{`{"limit":0}`, true},
		{`{"search":"nothing like it"}`, true},
		{`{"#t":["one"]}`, true},
		{`{"#t":["zero","three"]}`, true},
		{`{"#t":["two"]}`, false},
		{`{"#t":["One"]}`, false},
		{`{"#t":[]}`, false},
		{`{"#t":["t"]}`, false},
		{`{"#A":["root"]}`, true},
		{`{"#a":["root"]}`, false},
		{`{"#a":[""]}`, false},
		{`{"#d":[""]}`, true},
		{`{"#r":["r1"]}`, false},
		{`{"#e":["` + hexB + `"]}`, true},
		{`{"#t":["one"],"#A":["root"]}`, true},
		{`{"#t":["one"],"#A":["other"]}`, false},
		{`{"kinds":[1621],"authors":["` + hexB + `"],"#t":["one"],"since":1,"until":1000}`, true},
		{`{"kinds":[1621],"authors":["` + hexA + `"],"#t":["one"],"since":1,"until":1000}`, false},
	}
	for _, tt := range tests {
		if got := parsedFilter(t, tt.filter).Matches(e); got != tt.want {
			t.Errorf("%s: Matches = %v", tt.filter, got)
		}
	}
}

// TestMatchesAgreesWithItsDefinition compares with NIP-01 spelt out the slow way, over small sets in which things meet.
func TestMatchesAgreesWithItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	some := func(n int, add func()) bool {
		if r.IntN(2) == 0 {
			return false
		}
		for range r.IntN(n + 1) {
			add()
		}
		return true
	}
	matched := 0
	const rounds = 5000
	for range rounds {
		e := &nostr.Event{ID: nostr.ID{byte(r.IntN(3))}, PubKey: nostr.PubKey{byte(r.IntN(3))}, Kind: nostr.Kind(r.IntN(3)), CreatedAt: r.Int64N(4)}
		for range r.IntN(3) {
			e.Tags = append(e.Tags, nostr.Tag{string(rune('a' + r.IntN(2))), string(rune('x' + r.IntN(3)))})
		}
		f := nostr.Filter{}
		if f.IDs = []nostr.ID{}; !some(2, func() { f.IDs = append(f.IDs, nostr.ID{byte(r.IntN(3))}) }) {
			f.IDs = nil
		}
		if f.Authors = []nostr.PubKey{}; !some(2, func() { f.Authors = append(f.Authors, nostr.PubKey{byte(r.IntN(3))}) }) {
			f.Authors = nil
		}
		if f.Kinds = []nostr.Kind{}; !some(2, func() { f.Kinds = append(f.Kinds, nostr.Kind(r.IntN(3))) }) {
			f.Kinds = nil
		}
		for _, name := range []byte("ab") {
			tag := nostr.TagFilter{Name: name, Values: []string{}}
			if some(3, func() { tag.Values = append(tag.Values, string(rune('x'+r.IntN(3)))) }) {
				f.Tags = append(f.Tags, tag)
			}
		}
		if r.IntN(3) == 0 {
			f.Since = new(r.Int64N(4))
		}
		if r.IntN(3) == 0 {
			f.Until = new(r.Int64N(4))
		}
		want := (f.IDs == nil || slices.Contains(f.IDs, e.ID)) && (f.Authors == nil || slices.Contains(f.Authors, e.PubKey)) &&
			(f.Kinds == nil || slices.Contains(f.Kinds, e.Kind)) &&
			(f.Since == nil || *f.Since <= e.CreatedAt) && (f.Until == nil || e.CreatedAt <= *f.Until)
		for _, tag := range f.Tags {
			any := false
			for et := range e.Tags.All(string(rune(tag.Name))) {
				any = any || slices.Contains(tag.Values, et.Value())
			}
			want = want && any
		}
		if got := f.Matches(e); got != want {
			t.Fatalf("%s on %s: Matches = %v", f.AppendJSON(nil), e.AppendJSON(nil), got)
		}
		if f.Canonical().Matches(e) != want {
			t.Fatalf("the canonical form of %s does not match the same", f.AppendJSON(nil))
		}
		if want {
			matched++
		}
	}
	if matched < rounds/20 || matched > rounds*19/20 {
		t.Errorf("%d of %d matched: the cases are too much alike", matched, rounds)
	}
}
