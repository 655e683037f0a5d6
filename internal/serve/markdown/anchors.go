package markdown

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

const mostAnchor = 200 // bytes of an id

// Anchor returns the id of a heading that people mean by a fragment, as forges make it of the heading's text, behind a prefix.
func Anchor(prefix, fragment string) string {
	if s, err := url.PathUnescape(fragment); err == nil {
		fragment = s
	}
	return prefix + slug(fragment)
}

// slug keeps letters, digits, marks, - and _, in small letters, and makes - of spaces.
func slug(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(s))
	return strings.ToValidUTF8(s[:min(len(s), mostAnchor)], "")
}

// anchors gives headings ids, each once.
type anchors struct {
	prefix string
	taken  map[string]bool
	last   map[string]int // the number behind the last id of the same text
}

func (a anchors) of(heading string) string {
	text := slug(heading)
	id := text
	for a.taken[id] {
		a.last[text]++
		id = text + "-" + strconv.Itoa(a.last[text])
	}
	a.taken[id] = true
	return a.prefix + id
}

// textOf returns the text within a node.
func (m *meter) textOf(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		m.spend(1)
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Value(source))
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// alerts are the words with which a quote becomes an alert.
var alerts = map[string]string{"[!NOTE]": "Note", "[!TIP]": "Tip", "[!IMPORTANT]": "Important", "[!WARNING]": "Warning", "[!CAUTION]": "Caution"}

// alert makes an alert of a quote whose first line says so.
func alert(quote *ast.Blockquote, source []byte) {
	p, ok := quote.FirstChild().(*ast.Paragraph)
	if !ok || p.Lines().Len() == 0 {
		return
	}
	at := p.Lines().At(0)
	title := alerts[strings.ToUpper(string(bytes.TrimSpace(at.Value(source))))]
	if title == "" {
		return
	}
	for n := p.FirstChild(); n != nil; n = p.FirstChild() {
		p.RemoveChild(p, n)
		if t, ok := n.(*ast.Text); ok && (t.SoftLineBreak() || t.HardLineBreak()) {
			break
		}
	}
	head := ast.NewParagraph()
	head.AppendChild(head, ast.NewString([]byte(title)))
	head.SetAttributeString("class", "alert")
	quote.InsertBefore(quote, p, head)
	if p.FirstChild() == nil {
		quote.RemoveChild(quote, p)
	}
	quote.SetAttributeString("class", strings.ToLower(title))
}

// isRightToLeft reports letters that are written from the right.
func isRightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc || r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}

// hasOwnDirection reports whether nodes of a kind are written in the direction of their own text, not that of the whole.
func hasOwnDirection(k ast.NodeKind) bool {
	return k == ast.KindParagraph || k == ast.KindHeading || k == ast.KindListItem || k == extast.KindTableCell
}
