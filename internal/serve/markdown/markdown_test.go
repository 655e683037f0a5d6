package markdown_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/graspd/graspd/internal/serve/markdown"
)

func TestMarkdown(t *testing.T) {
	npub := "npub1" + strings.Repeat("q", 58)
	commit := strings.Repeat("0123456789", 4)
	o := markdown.Options{
		Commit: func(id string) string {
			if len(id) < 40 && id != commit[:7] && id != commit[:12] {
				return ""
			}
			return "/c/" + id
		},
		Link:      func(s string) string { return "/blob/" + s },
		Reference: func(name string) (string, string) { return "<Ann> " + name[:8], "/p/" + name },
	}
	for in, want := range map[string]string{
		"a *b* **c** `d<`":                                      "<p>a <em>b</em> <strong>c</strong> <code>d&lt;</code></p>\n",
		"[x](https://a.example/?a=1&b)":                         `<p><a href="https://a.example/?a=1&amp;b" rel="nofollow noreferrer ugc">x</a></p>` + "\n",
		"[x](javascript:alert(1))":                              "<p>x</p>\n",
		"[x](JaVaScript&colon;alert(1))":                        `<p>x</p>` + "\n",
		"[x]( \tdata:text/html,x)":                              "<p>x</p>\n",
		"[x](vbscript:x)":                                       "<p>x</p>\n",
		"[x](HTTPS://a.example)":                                `<p><a href="HTTPS://a.example" rel="nofollow noreferrer ugc">x</a></p>` + "\n",
		"[x](docs/a.md)":                                        `<p><a href="/blob/docs/a.md" rel="nofollow noreferrer ugc">x</a></p>` + "\n",
		"[x](//b.example/a)":                                    `<p><a href="https://b.example/a" rel="nofollow noreferrer ugc">x</a></p>` + "\n",
		"<javascript:alert(1)>":                                 "<p>javascript:alert(1)</p>\n",
		"<me@a.example>":                                        `<p><a href="mailto:me@a.example" rel="nofollow noreferrer ugc">me@a.example</a></p>` + "\n",
		"see https://a.example/x.":                              `<p>see <a href="https://a.example/x" rel="nofollow noreferrer ugc">https://a.example/x</a>.</p>` + "\n",
		"![alt](https://a.example/i.png)":                       `<p><a href="https://a.example/i.png" rel="nofollow noreferrer ugc">alt</a></p>` + "\n",
		"![](javascript:x)":                                     "<p>image</p>\n",
		"[![b](https://c.example/i)](https://a.example)":        `<p><a href="https://a.example" rel="nofollow noreferrer ugc">b</a></p>` + "\n",
		"a <b onclick=x>bold</b>":                               "<p>a bold</p>\n",
		"<p align=center>hi &lt;b&gt;<img src=x onerror=y></p>": "<p>hi &lt;b&gt;</p>\n",
		"<script>alert(1)</script>":                             "",
		"<style>x</style>\n":                                    "",
		"# one\n### three\n# again":                             "<h3>one</h3>\n<h4>three</h4>\n<h3>again</h3>\n",
		"```html\n<b>\n```":                                     "<pre tabindex=\"0\"><code>&lt;b&gt;\n</code></pre>\n",
		"    in <dented":                                        "<pre tabindex=\"0\"><code>in &lt;dented\n</code></pre>\n",
		"by nostr:" + npub + ", yes":                            `<p>by <a href="/p/` + npub + `">&lt;Ann&gt; npub1qqq</a>, yes</p>` + "\n",
		"`nostr:" + npub + "`":                                  "<p><code>nostr:" + npub + "</code></p>\n",
		"[who](nostr:" + npub + ")":                             `<p><a href="/p/` + npub + `" rel="nofollow noreferrer ugc">who</a></p>` + "\n",
		"nostr:npub1short":                                      "<p>nostr:npub1short</p>\n",
		"turns\u202e words":                                     "<p>turns\\u202e words</p>\n",
		"~a~ ~~b~~ ~~~c~~~ ~ d":                                 "<p><del>a</del> <del>b</del> ~~~c~~~ ~ d</p>\n",
		"a_b_c *d **e** f* * g ****":                            "<p>a_b_c <em>d <strong>e</strong> f</em> * g ****</p>\n",
		"(www.x.example) ~~~www.x.example":                      `<p>(<a href="http://www.x.example" rel="nofollow noreferrer ugc">www.x.example</a>) ~~~<a href="http://www.x.example" rel="nofollow noreferrer ugc">www.x.example</a></p>` + "\n",
		"in " + commit + ", not x" + commit:                     `<p>in <a href="/c/` + commit + `">0123456789</a>, not x` + commit + "</p>\n",
		"`" + commit + "` 0123457 `0123456`":                    "<p><code>" + commit + "</code> 0123457 <code>0123456</code></p>\n",
		"in 0123456, not 01234567 x0123456 012345":              `<p>in <a href="/c/0123456">0123456</a>, not 01234567 x0123456 012345</p>` + "\n",
		"<b>x</b> 012345678901\n0123456":                        `<p>x <a href="/c/012345678901">0123456789</a>` + "\n" + `<a href="/c/0123456">0123456</a></p>` + "\n",
		"[0123456](a.md) 0123456789012":                         `<p><a href="/blob/a.md" rel="nofollow noreferrer ugc">0123456</a> 0123456789012</p>` + "\n",
		"- [x] done":                                            "<ul>\n<li><span role=\"img\" aria-label=\"done\">☑</span> done</li>\n</ul>\n",
	} {
		if got := string(markdown.HTML(in, o)); got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
	}
	if got := string(markdown.HTML("[x](a.md) nostr:"+npub, markdown.Options{Heading: 2})); got != "<p>x npub1qqqqqqq…</p>\n" {
		t.Errorf("without options: %q", got)
	}
	if got := string(markdown.HTML("0123456 "+commit, markdown.Options{})); got != "<p>0123456 "+commit+"</p>\n" {
		t.Errorf("a commit without a page: %q", got)
	}
	if got := string(markdown.HTML("# a\n## b", markdown.Options{Heading: 6})); got != "<h6>a</h6>\n<h6>b</h6>\n" {
		t.Errorf("at the lowest level: %q", got)
	}
}

var elements = []string{"p", "em", "strong", "code", "pre", "a", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "hr", "br", "del", "table", "thead", "tbody", "tr", "th", "td"}

// harmless fails where HTML has an element or an attribute that it should not have.
func harmless(t *testing.T, src, page string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		tok := z.Token()
		if kind == html.CommentToken || kind == html.DoctypeToken {
			t.Fatalf("%q: a comment in %q", src, page)
		}
		if kind == html.TextToken {
			continue
		}
		if !slices.Contains(elements, tok.Data) {
			t.Fatalf("%q: <%s> in %q", src, tok.Data, page)
		}
		for _, a := range tok.Attr {
			ok := false
			switch tok.Data + " " + a.Key {
			case "a href":
				ok = strings.HasPrefix(strings.ToLower(a.Val), "https://") || strings.HasPrefix(strings.ToLower(a.Val), "http://") || strings.HasPrefix(strings.ToLower(a.Val), "mailto:")
				ok = ok || strings.HasPrefix(strings.ToLower(a.Val), "http:") || strings.HasPrefix(strings.ToLower(a.Val), "https:")
			case "a rel":
				ok = a.Val == "nofollow noreferrer ugc"
			case "pre tabindex", "ol start":
				ok = true
			case "th style", "td style":
				ok = strings.HasPrefix(a.Val, "text-align:")
			}
			if !ok {
				t.Fatalf("%q: %s=%q of <%s> in %q", src, a.Key, a.Val, tok.Data, page)
			}
		}
	}
}

// pieces are of Markdown and HTML.
var pieces = []string{"<script>", "</script>", "<img src=x onerror=alert(1)>", "[", "](", ")", "javascript:", "java\nscript:", "&#106;avascript:", "https://x.example/", "\"", "'", "`", "```\n", "\n", "\n\n", "> ", "- ", "1. ",
	"# ", "|", "|--|\n", "<a href=", ">", "<!--", "-->", "<![CDATA[", "]]>", "<?php", "?>", "![", "*", "_", "~~", "\\", "&lt;", "\x00", "\xff", "\u202e", "nostr:npub1" + strings.Repeat("q", 40), "<nostr:x>", "    ", "\t", "data:text/html,", "[a]: ", "[a]", " onclick=x ", "<b x=\"", "://", "www.x.example", "a@b.example"}

// TestWhateverTheyWrite: pieces of Markdown and HTML in any order give nothing but harmless HTML.
func TestWhateverTheyWrite(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 20_000 {
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		harmless(t, b.String(), string(markdown.HTML(b.String(), markdown.Options{})))
	}
}

// steps counts what Options.Charge hears.
type steps struct{ sum, calls, failAt int }

func (s *steps) charge(n int) error {
	s.sum, s.calls = s.sum+n, s.calls+1
	if s.failAt > 0 && s.calls >= s.failAt {
		return errors.New("the asker has left")
	}
	return nil
}

// bound is how many steps a text may take: half a step per byte, and what a single look may take beyond.
func bound(n int) int { return 1000 + n/2 + n/16 }

// plain reports whether a text is shown as it was written.
func plain(page string) bool {
	return strings.HasPrefix(page, `<pre tabindex="0">`) && strings.Count(page, "<") == 2
}

// TestCostlyTexts: a text that takes more work than its length explains is shown as it was written, and all others are rendered with little.
func TestCostlyTexts(t *testing.T) {
	n := markdown.MaxBytes
	rep := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	for name, s := range map[string]string{ // of these each took seconds, or the memory of millions of nodes
		"openers of one kind, closers of another": rep(" ~a", n-9000) + rep("a* ", 8900),
		"numbered lists on one line":              rep("1. ", 9000) + "a\n" + rep("\n", 18000) + "b", "lists on one line": rep("- ", n/2) + "x", "lists of another kind": rep("+ ", n), "lists of two kinds": rep("- ", n/2) + rep("+ ", n/2), "quotes": rep(">", n), "quotes apart": rep("> ", n),
		"stairs and empty lines": stairs(123251-60000) + rep("\n", 60000) + "b", "lists deep and empty lines": rep("- ", 48) + "a\n" + rep("\n", 60000) + "b",
		"brackets that close over lines": rep("[", 900) + rep("\na", 120000) + rep("]", 900), "destinations without an end": rep("[a](<", 50_000) + rep("b", n-50_000),
		"stars in links": "*a " + rep("[*b](c)"+rep("\na", 46), n-3), "images within images": rep("![", 40000) + rep("](a)", 60000),
		"web addresses within each other": rep("~www.1", n), "tables of empty cells": rep(rep("|a", 200)+"|\n"+rep("|-", 200)+"|\n"+rep("|\n", 196)+"\n", n),
		"escaped bars": rep("|a|a|\n|-|-|\n"+rep("|`\\|`|`\\|`|\n", 6000)+"\n", n), "a long address used again and again": "[a]: https://x.example/" + rep("y", n/2) + "\n\n" + rep(rep("[a] ", 2900)+"\n\n", n/2-100),
		"definitions": rep("[a]: b\n", n),
	} {
		var c steps
		if out := string(markdown.HTML(s, markdown.Options{Charge: c.charge})); !plain(out) || c.sum > bound(n) {
			t.Errorf("%s: plain %v, %d steps of %d", name, plain(out), c.sum, bound(n))
		}
		if strings.Contains(name, "on one line") && c.sum > 0 { // nobody begins with what is too deep
			t.Errorf("%s: %d steps", name, c.sum)
		}
	}
	texts := map[string]string{
		"tildes": "x" + rep("~", n-1), "tildes apart": "x" + rep("~~~ ", n-1), "stars": rep("*a ", n), "marks within words": rep("a*a**a", n), "openers and closers of strikes": rep(" ~~a", n/2) + rep("a~ ", n/2), "short emphasis": rep("*a* b", n), "closers that one opener does not open": "a*b " + rep("a** ", n-4), "stars apart": "a" + rep(" *", n-4) + " a*", "one run of stars": "a" + rep("*", n/2) + rep("![](a)", 9000) + rep("*", n/4), "brackets": rep("[", n), "links": rep("[a](", 400), "stairs": stairs(n), "backticks": ticks(n), "entities": rep("&", n), "comments": rep("<!--", n), "mail": rep("a@", n), "web": rep("http://", n), "www": rep("www.a", n),
		"names": rep("nostr:npub1", n), "numbers": rep("1", n), "escapes": rep("\\", n), "colons": rep("a:", n), "lines": rep("a\n", n), "setext": rep("a\n=\n", n), "indented": rep("    a\n\n", n), "numbered": rep("1. a\n", 5000), "attributes": rep(rep("<a b=\"", 2900)+"\n\n", n),
		"prose": rep("Some prose, with a [link](https://a.example) and `code` and *emphasis* here and there; it goes on.\n", n), "prose on one line": rep("Some prose, with a [link](https://a.example), `code`, *emphasis*. ", n),
		"a list of links": rep("- [name](https://a.example/b) - what it does, in `Go`\n", n), "a table": "|a|b|c|d|\n|-|-|-|-|\n" + rep("|some cell|another [x](https://a.example)|`c`|d|\n", n-20), "definitions": rep("[name]: https://a.example/b\n", 30_000) + "\n[name]",
		"badges": rep("[![x](https://a.example/b.svg)](https://a.example/b)\n", 4000), "code": "```\n" + rep("+--------+ * - > x[i] = *y\n", n-100) + "```\n", "lists within lists": rep("- a bit of text\n  - more text\n    - and more\n      - deeper still\n", n), "empty cells": rep("|a", 40) + "|\n" + rep("|-", 40) + "|\n" + rep("|\n", 200),
	}
	for name, s := range texts {
		var c steps
		if out := string(markdown.HTML(s, markdown.Options{Charge: c.charge})); plain(out) || c.sum > bound(len(s)) || len(out) > 12*n {
			t.Errorf("%s: plain %v, %d steps of %d, %d bytes", name, plain(out), c.sum, bound(len(s)), len(out))
		}
	}
}

// TestTextsOfThisProject: what people write takes a small part of what a text may take.
func TestTextsOfThisProject(t *testing.T) {
	files, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, f := range append(files, "../../../README.md", "../../../CHANGELOG.md", "../../../SECURITY.md") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c steps
		b = b[:min(len(b), markdown.MaxBytes)]
		if out := string(markdown.HTML(string(b), markdown.Options{Charge: c.charge})); plain(out) || c.sum > bound(len(b))/4 {
			t.Errorf("%s: plain %v, %d steps of %d", f, plain(out), c.sum, bound(len(b)))
		}
	}
}

// TestAnyRepetition: whatever is written how often, the work is bounded by the length, and ends where whoever pays for it says so.
func TestAnyRepetition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var b strings.Builder
		for range 1 + r.IntN(3) {
			part := ""
			for range 1 + r.IntN(4) {
				part += pieces[r.IntN(len(pieces))]
			}
			b.WriteString(strings.Repeat(part, 1+[]int{0, 20, 300, 4000}[r.IntN(4)]/len(part)))
		}
		var c steps
		markdown.HTML(b.String(), markdown.Options{Charge: c.charge})
		if c.sum > bound(b.Len()) {
			t.Fatalf("%q: %d steps of %d", b.String(), c.sum, bound(b.Len()))
		}
		if c.calls > 1 {
			left := steps{failAt: 1 + r.IntN(c.calls-1)}
			if out := markdown.HTML(b.String(), markdown.Options{Charge: left.charge}); !plain(string(out)) || left.calls != left.failAt {
				t.Fatalf("%q: the work goes on: %d calls, of which call %d fails", b.String(), left.calls, left.failAt)
			}
		}
	}
}

// ticks are runs of backticks of which no two have the same length.
func ticks(n int) string {
	var b strings.Builder
	for i := 1; b.Len() < n-1000; i++ {
		b.WriteString(strings.Repeat("`", i) + "a")
	}
	return b.String()
}

// stairs are lists that go deeper with every line.
func stairs(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}

// What forges show of a README: ids of headings, alerts, tasks, footnotes, pictures of the repository, the direction of each paragraph.
func TestAFileOfARepository(t *testing.T) {
	o := markdown.Options{
		Link: func(s string) string { return "/blob/" + s }, Anchors: "md-",
		Picture: func(s string) string { return strings.Replace("/raw/"+s, "/raw/out", "", 1) },
	}
	for in, want := range map[string]string{
		"# Get *Started*, now!":                            `<h3 id="md-get-started-now">Get <em>Started</em>, now!</h3>`,
		"# a\n\n# a-1\n\n# a\n\n# a":                       `<h3 id="md-a">a</h3>` + "\n" + `<h3 id="md-a-1">a-1</h3>` + "\n" + `<h3 id="md-a-2">a</h3>` + "\n" + `<h3 id="md-a-3">a</h3>`,
		"# \"><script>x":                                   `<h3 id="md-x">&quot;&gt;x</h3>`,
		"# \u00dcber \u65e5\u672c":                         "<h3 id=\"md-\u00fcber-\u65e5\u672c\">\u00dcber \u65e5\u672c</h3>",
		"[x](#Get-started) [y](#\"onclick=x)":              `<p><a href="#md-get-started" rel="nofollow noreferrer ugc">x</a> <a href="#md-onclickx" rel="nofollow noreferrer ugc">y</a></p>`,
		"![the *shot*](img/a.png)":                         `<p><img src="/raw/img/a.png" alt="the shot" loading="lazy"></p>`,
		"[![x](a.png)](b.md)":                              `<p><a href="/blob/b.md" rel="nofollow noreferrer ugc"><img src="/raw/a.png" alt="x" loading="lazy"></a></p>`,
		"![\"><b>](a\"b.png)":                              `<p><img src="/raw/a%22b.png" alt="&#34;&gt;" loading="lazy"></p>`,
		"![x](https://a.example/t.gif)":                    `<p><a href="https://a.example/t.gif" rel="nofollow noreferrer ugc">x</a></p>`,
		"![x](//a.example/t.gif)":                          `<p><a href="https://a.example/t.gif" rel="nofollow noreferrer ugc">x</a></p>`,
		"![x](out)":                                        `<p><a href="/blob/out" rel="nofollow noreferrer ugc">x</a></p>`,
		"![x](data:image/png,x)":                           "<p>x</p>",
		"> [!NOTE]\n> Mind *this*.":                        "<blockquote class=\"note\"><p class=\"alert\">Note</p>\n<p>Mind <em>this</em>.</p>\n</blockquote>",
		"> [!warning]\n>\n> x":                             "<blockquote class=\"warning\"><p class=\"alert\">Warning</p>\n<p>x</p>\n</blockquote>",
		"> [!OTHER]\n> x":                                  "<blockquote>\n<p>[!OTHER]\nx</p>\n</blockquote>",
		"- [ ] a\n- [X] b":                                 "<ul>\n<li><span role=\"img\" aria-label=\"to do\">☐</span> a</li>\n<li><span role=\"img\" aria-label=\"done\">☑</span> b</li>\n</ul>",
		"\u05e9\u05dc\u05d5\u05dd\n\n- hello\n":            "<p dir=\"auto\">\u05e9\u05dc\u05d5\u05dd</p>\n<ul>\n<li dir=\"auto\">hello</li>\n</ul>",
		"| a |\n|---|\n| \u0645\u0631\u062d\u0628\u0627 |": "<table>\n<thead>\n<tr>\n<th dir=\"auto\">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td dir=\"auto\">\u0645\u0631\u062d\u0628\u0627</td>\n</tr>\n</tbody>\n</table>",
	} {
		if got := strings.TrimSpace(string(markdown.HTML(in, o))); got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
	}
	got := string(markdown.HTML("a[^n] b[^none]\n\n[^n]: the <i>note</i>\n", o))
	for _, want := range []string{`id="md-fnref:1"`, `href="#md-fn:1"`, `id="md-fn:1"`, "the note", "b[^none]"} {
		if !strings.Contains(got, want) {
			t.Errorf("footnotes: no %s in %s", want, got)
		}
	}
	many := strings.Repeat("[^n] ", 300) + "\n\n[^n]: x"
	if got := string(markdown.HTML(many, o)); strings.Contains(got, "fnref") {
		t.Error("too many footnotes are made")
	}
}
