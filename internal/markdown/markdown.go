// Package markdown makes HTML of what strangers wrote in Markdown: nothing in it runs, loads, or leads anywhere but to the web and to
// mail, whatever they wrote, and the work is bounded by the length of the text. It is pure. Read HTML.
package markdown

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/graspd/graspd/internal/bidi"
	"github.com/graspd/graspd/internal/words"
)

// Bounds of what is read as Markdown. What lies beyond MaxBytes is cut off; a text whose marks are too many or too deep is shown as it
// was written.
const (
	MaxBytes = 128 << 10
	maxDepth = 24     // quotes and lists within each other, at the beginning of a line
	maxMarks = 3000   // in one paragraph
	maxCells = 20_000 // likewise, if it were a table: every row is filled up to the widest
)

// Options say how a text is shown. The zero value will do.
type Options struct {
	// Heading is the level of the first heading in the text, so that it goes below those of the page; 0 is 3.
	Heading int
	// Link gives the URL that a relative one stands for, "" for none: then its text is left. Nil leaves none.
	Link func(relative string) string
	// Reference gives what is shown for a name of NIP-19 (npub1…, nevent1…, …), and the URL that it leads to, "" for none. Nil shows it cut,
	// without a link.
	Reference func(name string) (shown, url string)
}

// HTML is the text as HTML. Of the elements that it may have none needs a script or loads anything: images become links.
func HTML(src string, o Options) template.HTML {
	src, cut := words.Cut(strings.ToValidUTF8(src, "\uFFFD"), MaxBytes)
	if cut {
		src += "…"
	}
	src = bidi.Escape(src)
	if tooMarked(src) {
		return Plain(src)
	}
	var b bytes.Buffer
	if err := o.markdown().Convert([]byte(src), &b); err != nil {
		return Plain(src)
	}
	return template.HTML(b.String())
}

// Plain is a text as it was written.
func Plain(src string) template.HTML {
	return template.HTML(`<pre tabindex="0">` + template.HTMLEscapeString(bidi.Escape(strings.ToValidUTF8(src, "\uFFFD"))) + "</pre>\n")
}

func (o Options) markdown() goldmark.Markdown {
	if o.Heading == 0 {
		o.Heading = 3
	}
	return goldmark.New(
		goldmark.WithExtensions(extension.Linkify, extension.Table, extension.Strikethrough),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(tamer{o}, 1000))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(shower{o}, 100))),
	)
}

// tooMarked reports a text that takes more work than its length: the marks of quotes and lists that nest too deeply, and brackets and
// the like of which there are too many in one paragraph.
func tooMarked(src string) bool {
	marks, rows, columns := 0, 0, 0
	for line := range strings.Lines(src) {
		if strings.TrimSpace(line) == "" {
			marks, rows, columns = 0, 0, 0
		}
		rows++
		if columns = max(columns, strings.Count(line, "|")); rows*columns > maxCells {
			return true
		}
		if depth(line) > maxDepth {
			return true
		}
		for i := range len(line) {
			switch line[i] {
			case '[', ']', '*', '_', '`', '<', '\\':
				marks++
			}
		}
		if marks > maxMarks {
			return true
		}
	}
	return false
}

// depth is how many quotes and lists a line begins, and how deep its indentation may reach into those that are open.
func depth(line string) (n int) {
	spaces := 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ':
			spaces++
		case c == '\t':
			spaces += 4
		case c == '>' || c == '-' || c == '+' || c == '*':
			n++
		case '0' <= c && c <= '9' || c == '.' || c == ')':
		default:
			return n
		}
		if n > maxDepth {
			break
		}
	}
	if strings.Trim(line, "-*+= \t\r\n") == "" { // a rule
		return min(n, 1)
	}
	return n
}
