package markdown

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// tamer changes the parsed text: it moves headings so that their levels have no gap, and makes names of NIP-19 and ids of commits nodes of
// their own.
type tamer struct {
	Options
	m *meter
}

// reference is a name of NIP-19 in a text, or the id of a commit, or the beginning of one that Commit knows.
type reference struct {
	ast.BaseInline
	name string
}

var kindReference = ast.NewNodeKind("Reference")

func (*reference) Kind() ast.NodeKind              { return kindReference }
func (r *reference) Dump(source []byte, level int) { ast.DumpHelper(r, source, level, nil, nil) }

// named matches a name of NIP-19 as clients write it into texts (NIP-21, NIP-27), and the id of a commit; commit matches an id alone. A short one has
// at most mostShort digits.
var (
	named  = regexp.MustCompile(`nostr:((?:npub|nprofile|note|nevent|naddr)1[02-9ac-hj-np-z]{20,1000})|\b([0-9a-f]{40}(?:[0-9a-f]{24})?|[0-9a-f]{7,12})\b`)
	commit = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{7,12})$`)
)

const mostShort = 12

// Transform implements parser.ASTTransformer.
func (t tamer) Transform(doc *ast.Document, r text.Reader, _ parser.Context) {
	source := r.Source()
	level := t.Heading - 1
	var texts []*ast.Text
	var quotes []*ast.Blockquote
	ids := anchors{t.Anchors, map[string]bool{}, map[string]int{}}
	rightToLeft := bytes.ContainsFunc(source, isRightToLeft)
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		t.m.spend(1)
		if !entering {
			return ast.WalkContinue, nil
		}
		if rightToLeft && hasOwnDirection(n.Kind()) {
			n.SetAttributeString("dir", "auto")
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = min(max(n.Level+t.Heading-1, t.Heading), level+1, 6)
			level = n.Level
			if t.Anchors != "" {
				n.SetAttributeString("id", ids.of(t.m.textOf(n, source)))
			}
		case *ast.Blockquote:
			quotes = append(quotes, n)
		case *ast.CodeSpan, *ast.Link, *ast.AutoLink, *ast.Image:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			texts = append(texts, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range quotes {
		alert(n, source)
	}
	for _, n := range texts {
		t.m.spend(1 + n.Segment.Len()/4)
		t.split(n, source)
	}
}

// split makes the names in a text nodes of their own. What may be a short id and names no commit stays text.
func (t tamer) split(n *ast.Text, source []byte) {
	all := named.FindAllSubmatchIndex(n.Segment.Value(source), -1)
	if len(all) == 0 {
		return
	}
	parent, from := n.Parent(), n.Segment.Start
	begin := from
	for _, at := range all {
		name := string(source[from+max(at[2], at[4]) : from+max(at[3], at[5])])
		if len(name) <= mostShort && (t.Commit == nil || t.Commit(name) == "") {
			continue
		}
		if s := text.NewSegment(begin, from+at[0]); !s.IsEmpty() {
			parent.InsertBefore(parent, n, ast.NewTextSegment(s))
		}
		parent.InsertBefore(parent, n, &reference{name: name})
		begin = from + at[1]
	}
	n.Segment = text.NewSegment(begin, n.Segment.Stop) // the last part keeps the line break
}

// safe returns the URL that a link may lead to; "" where it may lead nowhere.
func (o Options) safe(url string) string {
	url = strings.TrimSpace(url)
	if isRelative(url) {
		switch {
		case strings.HasPrefix(url, "#") && o.Anchors != "":
			return "#" + Anchor(o.Anchors, url[1:])
		case o.Link == nil || url == "":
			return ""
		case strings.HasPrefix(url, "//"):
			return "https:" + url
		}
		return o.Link(url)
	}
	scheme, _, _ := strings.Cut(url, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
		return url
	}
	return ""
}

// isRelative reports whether a URL has no scheme.
func isRelative(url string) bool {
	scheme, _, has := strings.Cut(url, ":")
	return !has || strings.ContainsAny(scheme, "/?#")
}
