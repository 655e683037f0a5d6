package markdown_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/graspd/graspd/internal/markdown"
)

func TestMarkdown(t *testing.T) {
	npub := "npub1" + strings.Repeat("q", 58)
	o := markdown.Options{
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
		"- [x] done":                                            "<ul>\n<li>[x] done</li>\n</ul>\n",
	} {
		if got := string(markdown.HTML(in, o)); got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
	}
	if got := string(markdown.HTML("[x](a.md) nostr:"+npub, markdown.Options{Heading: 2})); got != "<p>x npub1qqqqqqq…</p>\n" {
		t.Errorf("without options: %q", got)
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

// TestWhateverTheyWrite: pieces of Markdown and HTML in any order give nothing but harmless HTML.
func TestWhateverTheyWrite(t *testing.T) {
	pieces := []string{"<script>", "</script>", "<img src=x onerror=alert(1)>", "[", "](", ")", "javascript:", "java\nscript:", "&#106;avascript:", "https://x.example/", "\"", "'", "`", "```\n", "\n", "\n\n", "> ", "- ", "1. ",
		"# ", "|", "|--|\n", "<a href=", ">", "<!--", "-->", "<![CDATA[", "]]>", "<?php", "?>", "![", "*", "_", "~~", "\\", "&lt;", "\x00", "\xff", "\u202e", "nostr:npub1" + strings.Repeat("q", 40), "<nostr:x>", "    ", "\t", "data:text/html,", "[a]: ", "[a]", " onclick=x ", "<b x=\"", "://", "www.x.example", "a@b.example"}
	r := rand.New(rand.NewPCG(7, 7))
	for range 20_000 {
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		harmless(t, b.String(), string(markdown.HTML(b.String(), markdown.Options{})))
	}
}

// TestCostlyTexts: whatever is written takes bounded work, and is shown.
func TestCostlyTexts(t *testing.T) {
	n, texts := markdown.MaxBytes, map[string]string{}
	for name, s := range map[string]string{
		"quotes": strings.Repeat(">", n), "quotes apart": strings.Repeat("> ", n/2), "brackets": strings.Repeat("[", n), "links": strings.Repeat("[a](", n/4), "images": strings.Repeat("![", n/2),
		"lists": strings.Repeat("- ", n/2), "lists and text": strings.Repeat("- ", n/2-1) + "x", "stars": strings.Repeat("*a ", n/3), "stars and lines": strings.Repeat("*a_ ", n/4), "ticks": strings.Repeat("`a``b", n/6),
		"tags": strings.Repeat("<a ", n/3), "tables": strings.Repeat("|", n/2) + "\n" + strings.Repeat("|-", n/4), "references": strings.Repeat("[a]: b\n", n/7), "used": strings.Repeat("[a]", n/3), "entities": strings.Repeat("&", n),
		"stairs": stairs(n), "comments": strings.Repeat("<!--", n/4), "mail": strings.Repeat("a@", n/2), "web": strings.Repeat("http://", n/7), "www": strings.Repeat("www.a", n/5), "names": strings.Repeat("nostr:npub1", n/11), "longer": strings.Repeat("x", 3*n), "numbers": strings.Repeat("1", n), "escapes": strings.Repeat("\\", n),
		"emphasis": strings.Repeat("**a ", n/8) + strings.Repeat(" b**", n/8), "colons": strings.Repeat("a:", n/2), "wide table": strings.Repeat("|a", 1000) + "|\n" + strings.Repeat("|-", 1000) + "|\n" + strings.Repeat("|\n", 50_000), "lines": strings.Repeat("a\n", n/2), "setext": strings.Repeat("a\n=\n", n/4),
		"indented": strings.Repeat("    a\n\n", n/7), "numbered": strings.Repeat("1. a\n", n/5),
	} {
		texts[name] = s
	}
	for _, mark := range []string{"[", "[a](", "![", "*a ", "*a_ ", "**a ", "`", "`a", "<a ", "<!", "~~a", "|a", "\\\\[", "&#35;", "[a]: b\n", "[a][b]", "<a@b.c>", "a*", "***a_"} {
		texts["nearly "+mark] = strings.Repeat(strings.Repeat(mark, 2900/len(mark))+"\n\n", 45)
	}
	for name, s := range texts {
		begun := time.Now()
		out := markdown.HTML(s, markdown.Options{})
		took := time.Since(begun)
		t.Logf("%s: %v, %d bytes", name, took, len(out))
		if took > 5*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		if len(out) > 12*n {
			t.Errorf("%s: %d bytes", name, len(out))
		}
	}
}

// stairs are lists that go deeper with every line.
func stairs(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}
