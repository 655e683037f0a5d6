package relay

import (
	"slices"
	"testing"
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
