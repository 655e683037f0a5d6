package conffile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/operate/conffile"
)

func TestParse(t *testing.T) {
	entries, problems := conffile.Parse([]byte("# words\ndomain = \"git.example.org\" # more\n\nmin-pow = 1_0\nsync = false\nbootstrap = [\n  \"wss://a\", # one\n  'wss://b',\n]\nhex = 0x10\nnone = []\n"))
	want := []conffile.Entry{
		{2, "domain", conffile.Text, []string{"git.example.org"}},
		{4, "min-pow", conffile.Number, []string{"10"}},
		{5, "sync", conffile.Bool, []string{"false"}},
		{6, "bootstrap", conffile.List, []string{"wss://a", "wss://b"}},
		{10, "hex", conffile.Number, []string{"16"}},
		{11, "none", conffile.List, nil},
	}
	if fmt.Sprint(entries) != fmt.Sprint(want) || problems != nil {
		t.Errorf("%v %v", entries, problems)
	}
}

func TestWhatIsWrongWithAFile(t *testing.T) {
	for text, want := range map[string][]string{
		"domain = git.example.org\n":                            {"1: is no TOML"},
		"a = 1\nb = \"open\n":                                   {"2: is no TOML"},
		"a = 1\na = 2\n":                                        {"2: is no TOML"},
		"a = 1\n\n[serve]\nx = 1.5\n":                           {"3: [serve]: there are no tables", "4: x: a value of this sort"},
		"a = [1]\nb = [[\"x\"]]\nc = {x = 1}\nd = 2020-01-01\n": {"1: a: a list has texts", "2: b: a list has texts", "3: c: a value of this sort", "4: d: a value of this sort"},
		"\xff = 1": {"1: is no TOML"},
	} {
		_, problems := conffile.Parse([]byte(text))
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%d: %s", p.Line, p.Text))
		}
		if len(got) != len(want) || !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What is written is read as it was, whatever it holds.
func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, e := range []conffile.Entry{
		{1, "a", conffile.Text, []string{"\"quoted\" \\ back\nline\ttab \x7f ü 日本"}},
		{1, "b", conffile.List, []string{"x", "", "y\"z"}}, {1, "c", conffile.List, nil}, {1, "d", conffile.Bool, []string{"true"}}, {1, "e-f", conffile.Number, []string{"-12"}},
	} {
		got, problems := conffile.Parse([]byte(e.Write()))
		if len(problems) > 0 || len(got) != 1 || fmt.Sprintf("%+v", got[0]) != fmt.Sprintf("%+v", e) {
			t.Errorf("%s: %+v %v", e.Write(), got, problems)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a = \"b\"\n[c]\n"))
	f.Add([]byte("a.b = [[1], {c = 2}]\n[[x]]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, _ := conffile.Parse(text)
		for _, e := range entries {
			if e.Line < 1 || e.Kind != conffile.List && len(e.Values) != 1 {
				t.Errorf("%+v", e)
			}
		}
	})
}
