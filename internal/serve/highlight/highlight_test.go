package highlight_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/serve/highlight"
)

func never() bool { return false }

func TestLines(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a.go", "package a\n\nvar x = `<b>\n&`", "[<span class=\"k\">package</span> a  <span class=\"k\">var</span> x = <span class=\"s\">`&lt;b&gt;</span> <span class=\"s\">&amp;`</span>]"},
		{"notes", "a <b>\r\nc\n", "[a &lt;b&gt; c]"},
		{"a.py", "", "[]"},
		{"x", "\u202eabc\xff", `[\u202eabc` + "\ufffd]"},
	} {
		if got := fmt.Sprint(highlight.Lines(tt.name, tt.text, never)); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

var span = regexp.MustCompile(`<span class="[a-z]">|</span>`)

// Whatever the language, the lines are those of the text.
func TestNothingIsLost(t *testing.T) {
	text := "#!/bin/x <script>alert(1)</script>\n/* \"a\" 'b' `c`\n\n\tdef f(x): return 0x12 -- {{y}} $z %q\n<?php echo 1 ?> end"
	for _, name := range []string{"a.go", "a.py", "a.rs", "a.html", "a.php", "a.js", "Makefile", "a.md", "a.yaml", "a.json", "a.c", "a.sh", "Dockerfile", "a.tex", "a.sql", "a.vue", "a.el", "none"} {
		var all []string
		for _, line := range highlight.Lines(name, text, never) {
			all = append(all, html.UnescapeString(span.ReplaceAllString(string(line), "")))
		}
		if got := strings.Join(all, "\n"); got != text {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestLate(t *testing.T) {
	text := strings.Repeat("package a\n", 100)
	n := 0
	lines := highlight.Lines("a.go", text, func() bool { n++; return n > 50 })
	if len(lines) != 100 || lines[0] != "package a" || n != 52 {
		t.Errorf("%d lines, %s, asked %d times", len(lines), lines[0], n)
	}
}

func TestWhatHasNoColours(t *testing.T) {
	for what, text := range map[string]string{"a long line": strings.Repeat("x", 3000) + "\npackage a", "a large file": strings.Repeat("package a\n", highlight.MaxBytes/10+1)} {
		if lines := highlight.Lines("a.go", text, func() bool { t.Errorf("%s is worked on", what); return true }); string(lines[len(lines)-1]) != "package a" {
			t.Errorf("%s: %s", what, lines[len(lines)-1])
		}
	}
}

// TestNoLexerReadsAhead: late is asked before each token, also of what stands in other code, and of tokens that look alike. Some lexers would read all of
// a text before the first one.
func TestNoLexerReadsAhead(t *testing.T) {
	for _, l := range highlight.Known() {
		if s := fmt.Sprintf("%T", l); s == "*chroma.delegatingLexer" {
			t.Errorf("%s reads ahead", l.Config().Name)
		}
	}
	for name, text := range map[string]string{
		"a.svelte": "<p>{@html a}</p>\n", "a.erb": "<p><%= a %></p>\n", "a.phtml": "<?php\n$a = 1;\n", "a.sls": "a: {{ b }}\n", "a.md": "```svelte\n{a}\n```\n", "a.go": "\x01",
	} {
		asked, text := 0, strings.Repeat(text, 200)
		lines := highlight.Lines(name, text, func() bool { asked++; return false })
		if asked < 200 {
			t.Errorf("%s: late is asked %d times", name, asked)
		}
		if coloured := strings.Contains(fmt.Sprint(lines), "<span"); coloured != (name != "a.go") {
			t.Errorf("%s: coloured: %t", name, coloured)
		}
	}
}
