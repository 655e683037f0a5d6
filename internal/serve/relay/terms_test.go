package relay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestTerms(t *testing.T) {
	for search, want := range map[string][]string{
		"":                             nil,
		"  ":                           nil,
		`""`:                           nil,
		`"`:                            nil,
		"One  two":                     {"one", "two"},
		`"One  two" three`:             {"one two", "three"},
		`three "One`:                   {"three", "one"},
		`in"side bar"`:                 {`in"side`, "bar"},
		"a:b":                          nil,
		"nsfw:false word":              {"word"},
		`title:"a b" word`:             {"word"},
		`title:"a b`:                   nil,
		"fix: crash":                   {"fix:", "crash"},
		"https://example.org":          {"https://example.org"},
		"std::vector 10:30":            {"std::vector", "10:30"},
		"\u201eeins zwei\u201c \u00e4": {"eins zwei", "\u00e4"},
		"a\u0308":                      {"\u00e4"},
		":x":                           {":x"},
	} {
		if got := terms(search); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", search, got, want)
		}
	}
}

// TestATextIsSearchedManyTimes and made ready for that once, however many subscriptions search it.
func TestATextIsSearchedManyTimes(t *testing.T) {
	x := newSubject(&nostr.Event{Kind: nip34.KindIssue, Tags: nostr.Tags{{"subject", strings.Repeat("Words ", 1000)}}})
	f := &liveFilter{Filter: nostr.Filter{Search: "words nothing"}, words: terms("words nothing")}
	if n := testing.AllocsPerRun(100, func() { f.meets(x) }); n > 0 {
		t.Errorf("%g allocations for each search", n)
	}
	if f.words = terms("Words"); !f.meets(x) {
		t.Error("a word is not found")
	}
}

// BenchmarkTerms reads searches of as many words as there may be, and half of such.
func BenchmarkTerms(b *testing.B) {
	for _, n := range []int{127, 255} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			search := strings.Repeat("a ", n/2)
			for b.Loop() {
				terms(search)
			}
		})
	}
}
