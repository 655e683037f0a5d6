package main

import (
	"slices"
	"strings"
	"testing"
)

// Every flag of serve stands in one group, and in no second one, and no group names a flag that there is not.
func TestEveryFlagOfServeIsInOneGroup(t *testing.T) {
	var grouped []string
	for _, g := range groups() {
		if len(g.names) == 0 || g.title == "" {
			t.Errorf("group %q of %d", g.title, len(g.names))
		}
		grouped = append(grouped, g.names...)
	}
	for _, r := range new(Config).settings() {
		i := slices.Index(grouped, r.name)
		if i < 0 {
			t.Errorf("--%s is in no group: put it into one of groups()", r.name)
			continue
		}
		grouped = slices.Delete(grouped, i, i+1)
	}
	if len(grouped) > 0 {
		t.Errorf("in a second group, or no flags: %q", grouped)
	}
	if n := len(groups()[0].names); n != 5 {
		t.Errorf("the first group has %d flags, not five", n)
	}
}

// The help of a command shows all its flags: whole those that matter to it, by name those that it has from serve.
func TestHelpShowsEveryFlag(t *testing.T) {
	for _, c := range commands() {
		for _, args := range [][]string{{c.name, "--help"}, {c.name, "-h"}, {"help", c.name}} {
			if c.name == "version" && args[0] != "help" {
				continue
			}
			code, out, errs := call(t, "", nil, args...)
			if code != exitOK || errs != "" || !strings.HasPrefix(out, strings.TrimSpace("graspd "+c.name+" "+c.args)+": "+c.about+"\n") {
				t.Fatalf("%v: exit code %d: %s%s", args, code, out, errs)
			}
			if !strings.Contains(out, c.example) {
				t.Errorf("%v: no example", args)
			}
			words := strings.FieldsFunc(out, func(r rune) bool { return r == ' ' || r == '\n' || r == ',' })
			for _, r := range c.rows(nil) {
				whole := strings.Contains(out, strings.TrimSpace("\n  --"+r.name+" "+r.placeholder)+"\n        ")
				if seldom := slices.Contains(c.seldom, r.name); whole == seldom || !slices.Contains(words, "--"+r.name) {
					t.Errorf("%v: --%s is shown whole: %v", args, r.name, whole)
				}
			}
			for line := range strings.Lines(out) {
				if n := len([]rune(strings.TrimSpace(line))); n > helpWidth && !strings.Contains(line, "graspd "+c.name) {
					t.Errorf("%v: a line of %d characters: %s", args, n, line)
				}
			}
		}
		for _, name := range c.seldom {
			if !slices.ContainsFunc(c.rows(nil), func(r setting) bool { return r.name == name }) {
				t.Errorf("%s has no flag --%s that it could seldom need", c.name, name)
			}
		}
	}
}

// Every value has a word that stands for it, and a default is shown where there is one to show.
func TestHelpOfAFlag(t *testing.T) {
	var flags Config
	for _, r := range flags.settings() {
		if (r.placeholder == "") != r.isBool {
			t.Errorf("--%s: %q stands for its value", r.name, r.placeholder)
		}
		var b strings.Builder
		r.writeHelp(&b)
		text := strings.Join(strings.Fields(b.String()), " ")
		if told := strings.Contains(text, "(default "+r.def+")"); told != (r.def != "" && r.def != "false") || !strings.Contains(text, r.about) {
			t.Errorf("--%s, default %q: %s", r.name, r.def, text)
		}
	}
}

// The first help is short: the commands, and the flags that most people need.
func TestTheFirstHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"help"}, {"-h"}, {"-help"}, {"help", "help"}, {"help", "--help"}} {
		code, out, errs := call(t, "", map[string]string{"GRASPD_NONSENSE": "1"}, args...)
		if code != exitOK || errs != "" || strings.Count(out, "\n") > 45 || !strings.Contains(out, commands()[0].example) {
			t.Errorf("%v: exit code %d, %d lines, %s", args, code, strings.Count(out, "\n"), errs)
		}
		for _, c := range commands() {
			if !strings.Contains(out, "graspd "+c.name) {
				t.Errorf("%v: no %s", args, c.name)
			}
		}
		for _, name := range groups()[0].names {
			if !strings.Contains(out, "\n  --"+name+" ") {
				t.Errorf("%v: no --%s", args, name)
			}
		}
		if strings.Contains(out, "--sync-max-tags") {
			t.Errorf("%v: too much", args)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want []string
	}{
		{"", 5, []string{""}},
		{"a b c", 5, []string{"a b c"}},
		{"a b cd", 5, []string{"a b", "cd"}},
		{"unbreakable a", 5, []string{"unbreakable", "a"}},
	} {
		if got := wrap(tt.text, tt.most); !slices.Equal(got, tt.want) {
			t.Errorf("%q in %d: %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}
