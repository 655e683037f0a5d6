// Package markdown makes HTML of Markdown by strangers. Whatever they wrote, nothing in the HTML runs or loads, and links lead only to the
// web, to mail and to what Options name; the length of the text bounds the work. It is pure. Read HTML.
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

// Bounds of Markdown. HTML cuts a text off at MaxBytes, and shows a text with too many or too deep marks as it was written.
const (
	MaxBytes = 128 << 10
	maxDepth = 24     // quotes and lists within each other, at the beginning of a line
	maxMarks = 3000   // in one paragraph
	maxCells = 20_000 // in one paragraph if it is a table, whose rows are all filled up to the widest
)

// Options say how to show a text. The zero value will do.
type Options struct {
	// Heading is the level of the highest headings in the text, below those of the page; 0 is 3.
	Heading int
	// Link returns the URL that a relative one stands for. With "", and with a nil Link, only the text of the link stays.
	Link func(relative string) string
	// Reference returns what to show for a name of NIP-19 (npub1…, nevent1…, …), and the URL that it leads to, "" for none. Without a
	// Reference the name is cut and has no link.
	Reference func(name string) (shown, url string)
}

// HTML renders a text. No element of the HTML needs a script or loads anything: images become links.
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

// Plain shows a text as it was written, in a pre element.
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

// tooMarked reports whether a text would take more work than its length explains: whether quotes and lists nest too deeply, or one paragraph
// has too many brackets and other marks, or would be too large a table.
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

// depth returns how many quotes and lists a line may begin.
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
