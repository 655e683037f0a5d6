// Package markdown makes HTML of Markdown by strangers. Whatever they wrote, nothing in the HTML runs or loads, and links lead only to the
// web, to mail and to what Options name; the length of the text bounds the work. It is pure. Read HTML.
package markdown

import (
	"bytes"
	"html/template"
	"io"
	"strings"

	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/graspd/graspd/internal/base/safetext"
)

// Bounds of Markdown. HTML cuts a text off at MaxBytes. It shows a text as it was written whose quotes and lists nest too deeply, or which
// takes more work than ticks (meter.go).
const (
	MaxBytes  = 128 << 10
	mostNotes = 200 // footnotes and their marks; with more they are text
	maxDepth  = 24  // quotes and lists within each other, at the beginning of a line
)

// Options say how to show a text. The zero value will do.
type Options struct {
	// Heading is the level of the highest headings in the text, below those of the page; 0 is 3.
	Heading int
	// Link returns the URL that a relative one stands for. With "", and with a nil Link, only the text of the link stays.
	Link func(relative string) string
	// Picture returns the URL of this service from which a page loads a relative image. With "", and with a nil Picture, an image is a link.
	Picture func(relative string) string
	// Anchors begins the ids of headings and footnotes, which are on one page with others; without it they have none. See Anchor.
	Anchors string
	// Place is where relative links lead from, so that who keeps HTML knows it apart; it is not read.
	Place string
	// Reference returns what to show for a name of NIP-19 (npub1…, nevent1…, …), and the URL that it leads to, "" for none. Without a
	// Reference the name is cut and has no link.
	Reference func(name string) (shown, url string)
	// Commit returns the URL of the commit that a text names by its full id, or by the first 7 to 12 digits. With "", and with a nil Commit, the id
	// stays as it is.
	Commit func(id string) string
	// Charge hears of the work while it is done, in steps as a store.Meter counts them. When it fails, HTML ends the work and shows the text
	// as it was written. Nil does not fail.
	Charge func(steps int) error
}

// HTML renders a text. No element of the HTML needs a script or loads anything but what Picture names: other images become links.
func HTML(src string, o Options) template.HTML {
	src, cut := safetext.Cut(strings.ToValidUTF8(src, "\uFFFD"), MaxBytes)
	if cut {
		src += "…"
	}
	src = safetext.EscapeBidi(src)
	if tooDeep(src) {
		return Plain(src)
	}
	var b bytes.Buffer
	m := newMeter(len(src), o.Charge)
	if err := m.run(func() error { return o.render(&b, []byte(src), m) }); err != nil {
		return Plain(src)
	}
	return template.HTML(b.String())
}

// Plain shows a text as it was written, in a pre element.
func Plain(src string) template.HTML {
	return template.HTML(`<pre tabindex="0">` + template.HTMLEscapeString(safetext.EscapeBidi(strings.ToValidUTF8(src, "\uFFFD"))) + "</pre>\n")
}

// render writes a text as HTML. Every part that strangers' texts make work charges the meter, which ends render when it has run out.
func (o Options) render(w io.Writer, src []byte, m *meter) error {
	if o.Heading == 0 {
		o.Heading = 3
	}
	p := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(m.inlines()...),
		parser.WithParagraphTransformers(m.paragraphs()...),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0), util.Prioritized(tamer{o, m}, 1000)),
	)
	if n := bytes.Count(src, []byte("[^")); o.Anchors != "" && n > 0 && n <= mostNotes {
		p.AddOptions(
			parser.WithBlockParsers(util.Prioritized(extension.NewFootnoteBlockParser(), 999)),
			parser.WithInlineParsers(util.Prioritized(&priced{m, extension.NewFootnoteParser(), m.note, nil}, 101)),
			parser.WithASTTransformers(util.Prioritized(extension.NewFootnoteASTTransformer(), 999)),
		)
	}
	r := renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(shower{o, m}, 100), util.Prioritized(extension.NewTableHTMLRenderer(), 500),
		util.Prioritized(extension.NewFootnoteHTMLRenderer(extension.WithFootnoteIDPrefix([]byte(o.Anchors))), 500), util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500), util.Prioritized(html.NewRenderer(), 1000),
	))
	return r.Render(w, src, p.Parse(&reader{text.NewReader(src), m}))
}

// tooDeep reports whether a line may begin too many quotes and lists within each other.
func tooDeep(src string) bool {
	for line := range strings.Lines(src) {
		if depth(line) > maxDepth {
			return true
		}
	}
	return false
}

// depth returns how many quotes and lists a line may begin; more than maxDepth for all that are more.
func depth(line string) (n int) {
	if strings.Trim(line, "- \t\r\n") == "" || strings.Trim(line, "* \t\r\n") == "" { // a rule
		return 1
	}
	for n <= maxDepth {
		line = strings.TrimLeft(line, " \t")
		rest, list := strings.CutPrefix(line, ">")
		if !list {
			rest = strings.TrimLeft(line, "0123456789")
			marks := ".)"
			if len(rest) == len(line) {
				marks = "-+*"
			}
			if rest == "" || strings.IndexByte(marks, rest[0]) < 0 || len(rest) > 1 && strings.IndexByte(" \t\r\n", rest[1]) < 0 {
				return n
			}
			rest = rest[1:]
		}
		line = rest
		n++
	}
	return n
}
