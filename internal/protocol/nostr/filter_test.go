package nostr_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

var (
	hexA = strings.Repeat("a", 64)
	hexB = strings.Repeat("b", 64)
)

func parsedFilter(t testing.TB, text string) nostr.Filter {
	t.Helper()
	f, err := nostr.ParseFilter([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return f
}

func TestParseFilter(t *testing.T) {
	a, b := nostr.ID(unhex(t, hexA)), nostr.PubKey(unhex(t, hexB))
	tests := []struct {
		name, text string
		want       nostr.Filter
	}{
		{"nothing", ` { } `, nostr.Filter{}},
		{"all", `{"ids":["` + hexA + `"],"authors":["` + hexB + `"],"kinds":[0,30617,65535],"#e":["` + hexA + `"],"#p":["` + hexB +
			`"],"#A":["30617:x:a\u003ab","","😀"],"since":0,"until":9223372036854775807,"limit":0,"search":"two words"}`,
			nostr.Filter{IDs: []nostr.ID{a}, Authors: []nostr.PubKey{b}, Kinds: []nostr.Kind{0, 30617, 65535},
				Tags:  []nostr.TagFilter{{'e', []string{hexA}}, {'p', []string{hexB}}, {'A', []string{"30617:x:a:b", "", "😀"}}},
				Since: new(int64(0)), Until: new(int64(math.MaxInt64)), Limit: new(0), Search: "two words"}},
		{"empty lists", `{"ids":[],"authors":[],"kinds":[],"#t":[]}`,
			nostr.Filter{IDs: []nostr.ID{}, Authors: []nostr.PubKey{}, Kinds: []nostr.Kind{}, Tags: []nostr.TagFilter{{'t', []string{}}}}},
		{"escaped key", `{"\u0023q":["x"]}`, nostr.Filter{Tags: []nostr.TagFilter{{'q', []string{"x"}}}}},
		{"upper case #E is not checked", `{"#E":["not hex"]}`, nostr.Filter{Tags: []nostr.TagFilter{{'E', []string{"not hex"}}}}},
		{"empty search", `{"search":""}`, nostr.Filter{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := parsedFilter(t, tt.text); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestParseFilterRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "'{' expected"},
		{"array", "[{}]", "'{' expected"},
		{"data after the end", "{}{}", "after the end"},
		{"ids null", `{"ids":null}`, "ids: '[' expected"},
		{"ids string", `{"ids":"` + hexA + `"}`, "ids: '[' expected"},
		{"id prefix", `{"ids":["aaaa"]}`, "ids: not lower-case hex"},
		{"upper-case id", `{"ids":["` + strings.ToUpper(hexA) + `"]}`, "ids: not lower-case hex"},
		{"author too long", `{"authors":["` + hexA + `aa"]}`, "authors: not lower-case hex"},
		{"npub", `{"authors":["npub15qydau2hjma6ngxkl2cyar74wzyjshvl65za5k5rl69264ar2exs5cyejr"]}`, "authors: not lower-case hex"},
		{"#e prefix", `{"#e":["` + hexA + `","aa"]}`, "#e: not lower-case hex"},
		{"upper-case #p", `{"#p":["` + strings.ToUpper(hexA) + `"]}`, "#p: not lower-case hex"},
		{"kind string", `{"kinds":["1"]}`, "kinds: integer expected"},
		{"kind too large", `{"kinds":[65536]}`, "kinds: number too large"},
		{"negative kind", `{"kinds":[-1]}`, "kinds: negative"},
		{"kind fraction", `{"kinds":[1.0]}`, "kinds: number is not an integer"},
		{"tag number", `{"#t":[1]}`, "#t: string expected"},
		{"tag string", `{"#t":"x"}`, "#t: '[' expected"},
		{"negative since", `{"since":-1}`, "since: negative"},
		{"since fraction", `{"since":1.5}`, "since: number is not an integer"},
		{"since string", `{"since":"1"}`, "since: integer expected"},
		{"until too large", `{"until":9223372036854775808}`, "until: number too large"},
		{"until null", `{"until":null}`, "until: integer expected"},
		{"negative limit", `{"limit":-1}`, "limit: negative"},
		{"limit exponent", `{"limit":1e2}`, "limit: number is not an integer"},
		{"search number", `{"search":1}`, "search: string expected"},
		{"key twice", `{"kinds":[1],"kinds":[2]}`, "kinds: key given twice"},
		{"tag twice", `{"#t":["a"],"#t":["b"]}`, "#t: key given twice"},
		{"key twice, once escaped", `{"since":1,"s\u0069nce":2}`, "since: key given twice"},
		{"lone surrogate", `{"#t":["\ud800"]}`, "#t: half a surrogate pair"},
		{"invalid UTF-8", "{\"search\":\"\xff\"}", "search: invalid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := nostr.ParseFilter([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, nostr.ErrUnsupported) {
				t.Errorf("err = %v, want one with %q", err, tt.want)
			}
			if !reflect.DeepEqual(f, nostr.Filter{}) {
				t.Errorf("the error came with %+v", f)
			}
		})
	}
}

func TestParseFilterNamesWhatItDoesNotKnow(t *testing.T) {
	for _, key := range []string{"foo", "#ab", "#", "#1", "#é", "#_", "e", "Kinds", "", "#-", "#@", "#[", "#`", "#{"} {
		_, err := nostr.ParseFilter([]byte(`{"kinds":[1],"` + key + `":["x"]}`))
		if !errors.Is(err, nostr.ErrUnsupported) || !strings.Contains(err.Error(), key) {
			t.Errorf("%q: err = %v", key, err)
		}
	}
	_, err := nostr.ParseFilter([]byte(`{"` + strings.Repeat("x", 100_000) + `":1}`))
	if !errors.Is(err, nostr.ErrUnsupported) || len(err.Error()) > 200 {
		t.Errorf("a long key makes an error of %d bytes", len(err.Error()))
	}
}

func TestFiltersRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		f := randomFilter(r)
		text := f.AppendJSON(nil)
		if back := parsedFilter(t, string(text)); !reflect.DeepEqual(back, f) {
			t.Fatalf("\n got %+v\nwant %+v\nfrom %s", back, f, text)
		}
	}
}

func TestFilterKey(t *testing.T) {
	x, y := hexA, hexB
	tests := []struct {
		name, a, b string
		same       bool
	}{
		{"order of lists", `{"ids":["` + x + `","` + y + `"],"kinds":[2,1]}`, `{"kinds":[1,2],"ids":["` + y + `","` + x + `"]}`, true},
		{"order of authors", `{"authors":["` + x + `","` + y + `"]}`, `{"authors":["` + y + `","` + x + `"]}`, true},
		{"repetitions", `{"kinds":[1,1,2,1],"#t":["a","b","a"]}`, `{"kinds":[2,1],"#t":["b","a"]}`, true},
		{"order of tags", `{"#a":["1"],"#A":["2"]}`, `{"#A":["2"],"#a":["1"]}`, true},
		{"escapes", `{"#d":["\u0061"]}`, `{"#d":["a"]}`, true},
		{"absent is not empty", `{}`, `{"kinds":[]}`, false},
		{"absent is not zero", `{}`, `{"limit":0}`, false},
		{"since is not until", `{"since":1}`, `{"until":1}`, false},
		{"other limit", `{"limit":1}`, `{"limit":2}`, false},
		{"other case of a tag", `{"#a":["1"]}`, `{"#A":["1"]}`, false},
		{"ids are not authors", `{"ids":["` + x + `"]}`, `{"authors":["` + x + `"]}`, false},
		{"one value with a comma", `{"#d":["a\",\"b"]}`, `{"#d":["a","b"]}`, false},
		{"search", `{"search":"a"}`, `{}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := parsedFilter(t, tt.a), parsedFilter(t, tt.b)
			if (a.Key() == b.Key()) != tt.same || a.Equal(b) != tt.same {
				t.Errorf("keys %s and %s, equal = %v", a.Key(), b.Key(), a.Equal(b))
			}
			if before := string(a.AppendJSON(nil)); before != string(parsedFilter(t, tt.a).AppendJSON(nil)) {
				t.Error("taking the key changed the filter")
			}
			canonical := a.Canonical()
			if !reflect.DeepEqual(canonical.Canonical(), canonical) || !reflect.DeepEqual(parsedFilter(t, a.Key()), canonical) {
				t.Errorf("the canonical form is not final: %+v", canonical)
			}
		})
	}
}
