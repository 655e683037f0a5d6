package suite

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// A script is one of git's tests, with its cases in order.
type script struct {
	name  string
	cases []one
}

// one is a case and what comes of it.
type one struct {
	outcome string // ok, no, or skip where the machine lacks something
	title   string
	reason  string // why it is not ok
}

// readCases reads cases.txt: a line with the name of each script, and then one for each of its cases from the first that is about
// HTTP on: the outcome, the title and the reason, with tabs between them.
func readCases(t *testing.T, file string) (all []script) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		f := strings.Split(line, "\t")
		switch {
		case line == "" || line[0] == '#':
		case len(f) == 1:
			all = append(all, script{name: line})
		case len(all) > 0 && len(f) == 2 && (f[0] == "ok" || f[0] == "skip"):
			s := &all[len(all)-1]
			s.cases = append(s.cases, one{f[0], f[1], ""})
		case len(all) > 0 && len(f) == 3 && f[0] == "no":
			s := &all[len(all)-1]
			s.cases = append(s.cases, one{f[0], f[1], f[2]})
		default:
			t.Fatalf("%s: %q is no line of it", file, line)
		}
	}
	return all
}

var tap = regexp.MustCompile(`(?m)^(ok|not ok) \d+ (- |# skip )(.*)$`)

// parse reads what a script prints.
func parse(out string) (all []one) {
	for _, m := range tap.FindAllStringSubmatch(out, -1) {
		c := one{outcome: "ok", title: m[3]}
		if m[1] == "not ok" {
			c.outcome = "no"
		}
		if m[2] == "# skip " {
			c.outcome, c.title = "skip", c.title[:max(strings.LastIndex(c.title, " ("), 0)]
		}
		all = append(all, c)
	}
	return all
}

// from are the cases from the one with that title on.
func from(title string, all []one) []one {
	for i, c := range all {
		if c.title == title {
			return all[i:]
		}
	}
	return nil
}

// compare says what came out otherwise than it is written down.
func compare(want, got []one) (wrong []string) {
	if len(want) == 0 || len(got) == 0 {
		return []string{fmt.Sprintf("%d cases, and %d written down", len(got), len(want))}
	}
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			wrong = append(wrong, fmt.Sprintf("%s: %s, and it is not written down", got[i].title, got[i].outcome))
		case i >= len(got):
			wrong = append(wrong, fmt.Sprintf("%s: it did not run", want[i].title))
		case want[i].title != got[i].title:
			return append(wrong, fmt.Sprintf("%s: it ran where %s is written down", got[i].title, want[i].title))
		case want[i].outcome == "skip" && got[i].outcome == "ok":
		case want[i].outcome != got[i].outcome:
			wrong = append(wrong, fmt.Sprintf("%s: %s, where %s is written down", want[i].title, got[i].outcome, want[i].outcome))
		}
	}
	return wrong
}

// TestComparing: whatever is otherwise is said.
func TestComparing(t *testing.T) {
	got := parse("ok 1 - a\nexpecting success\nnot ok 2 - b c\n#\tok 9 - no\nok 3 # skip d (e) (missing HTTP2)\n# failed\n1..3\n")
	if len(got) != 3 || got[0] != (one{"ok", "a", ""}) || got[1] != (one{"no", "b c", ""}) || got[2] != (one{"skip", "d (e)", ""}) {
		t.Fatalf("%+v", got)
	}
	want := []one{{"ok", "a", ""}, {"no", "b c", "why"}, {"skip", "d (e)", ""}}
	if wrong := compare(want, got); wrong != nil {
		t.Error(wrong)
	}
	if wrong := compare(want[1:], from("b c", got)); wrong != nil {
		t.Error(wrong)
	}
	for name, c := range map[string]struct{ want, got []one }{
		"fails":      {[]one{{"ok", "a", ""}}, []one{{"no", "a", ""}}},
		"passes":     {[]one{{"no", "a", "why"}}, []one{{"ok", "a", ""}}},
		"is skipped": {[]one{{"ok", "a", ""}}, []one{{"skip", "a", ""}}},
		"is missing": {want, got[:2]},
		"is new":     {want[:2], got},
		"moved":      {want, []one{got[1], got[0], got[2]}},
		"nothing":    {want, nil},
	} {
		if wrong := compare(c.want, c.got); len(wrong) != 1 {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}
