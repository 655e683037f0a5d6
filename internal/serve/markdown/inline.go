package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// place is the paragraph, heading or cell whose inline elements are being read.
type place struct {
	of    ast.Node
	bytes int
}

// enter notes which block is being read.
func (m *meter) enter(of ast.Node) {
	if m.at.of == of {
		return
	}
	m.at = place{of: of}
	for i := range of.Lines().Len() {
		line := of.Lines().At(i)
		m.at.bytes += line.Len()
	}
	m.spend(of.Lines().Len())
}

// inlines returns goldmark's parsers of inline elements, each with its cost, and one for emphasis.
func (m *meter) inlines() []util.PrioritizedValue {
	return []util.PrioritizedValue{
		util.Prioritized(&priced{m, extension.NewTaskCheckBoxParser(), tag, nil}, 0),
		util.Prioritized(&priced{m, parser.NewCodeSpanParser(), noCost, m.span}, 100),
		util.Prioritized(&priced{m, parser.NewLinkParser(), m.bracket, m.link}, 200),
		util.Prioritized(&priced{m, parser.NewAutoLinkParser(), tag, nil}, 300),
		util.Prioritized(&priced{m, parser.NewRawHTMLParser(), tag, nil}, 400),
		util.Prioritized(emphasis{m}, 500),
		util.Prioritized(&priced{m, extension.NewLinkifyParser(), webAddress, nil}, 999),
	}
}

// note returns the cost of a bracket that may be the mark of a footnote, which is looked for among all.
func (m *meter) note(_ ast.Node, line []byte) int {
	if len(line) > 1 && line[1] == '^' {
		return 4 * mostNotes
	}
	return 1
}

func noCost(ast.Node, []byte) int { return 0 }

// tag returns the cost of an angle bracket. No tag and no address goes on behind another angle bracket, but within quotes.
func tag(ast.Node, []byte) int { return 16 }

// span returns the cost of backticks, which were compared with all that follow where they begin nothing.
func (m *meter) span(_ []byte, n ast.Node) int {
	if _, ok := n.(*ast.CodeSpan); ok {
		return 0
	}
	return m.at.bytes / 16
}

// bracket returns the cost of a bracket: goldmark goes through all nodes behind the bracket that it may close, and through those behind the mark
// before that one where there are marks between them.
func (m *meter) bracket(parent ast.Node, line []byte) int {
	nodes, marks, opened := 1, 0, false
	if line[0] != ']' {
		return nodes
	}
	for n := parent.LastChild(); n != nil && (!opened || marks > 0); n = n.PreviousSibling() {
		if _, ok := n.(*parser.Delimiter); ok {
			if marks++; opened {
				break
			}
		}
		opened = opened || n.Kind().String() == "LinkLabelState"
		nodes++
	}
	return nodes
}

// link returns the cost of a bracket that closes no link, though a destination or a title may have been sought in all that follows.
func (m *meter) link(line []byte, n ast.Node) int {
	switch {
	case n != nil || line[0] != ']':
		return 0
	case len(line) > 1 && line[1] == '(':
		return 100 + m.at.bytes/16
	}
	return 100 // it was looked up as a reference
}

// webAddress returns the cost of looking whether an address begins at the line, or behind its first byte. An expression that counts to 256
// reads addresses.
func webAddress(_ ast.Node, line []byte) int {
	for _, l := range [][]byte{line, line[1:]} {
		if bytes.HasPrefix(l, []byte("http")) || bytes.HasPrefix(l, []byte("www.")) || bytes.HasPrefix(l, []byte("ftp:")) {
			return 600
		}
	}
	return 4
}

// priced is a parser of an inline element that spends before and after.
type priced struct {
	m *meter
	parser.InlineParser
	before func(parent ast.Node, line []byte) int
	after  func(line []byte, n ast.Node) int // nil for nothing
}

// Parse implements parser.InlineParser.
func (p *priced) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	p.m.enter(parent)
	line, _ := r.PeekLine()
	p.m.spend(1 + p.before(parent, line))
	n := p.InlineParser.Parse(parent, r, pc)
	if p.after != nil {
		p.m.spend(p.after(line, n))
	}
	return n
}

// CloseBlock implements parser.CloseBlocker, which some parsers need.
func (p *priced) CloseBlock(parent ast.Node, r text.Reader, pc parser.Context) {
	if c, ok := p.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, r, pc)
	}
}

// emphasis reads emphasis and strikethrough. Each run of marks is read once; a run that can neither begin nor end anything is text, and so is a
// run of more than longestRun.
type emphasis struct{ m *meter }

const (
	longestRun    = 64
	longestStrike = 2
)

// Trigger implements parser.InlineParser.
func (emphasis) Trigger() []byte { return []byte("*_~") }

// Parse implements parser.InlineParser.
func (e emphasis) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	e.m.enter(parent)
	before := r.PrecendingCharacter()
	line, segment := r.PeekLine()
	var by parser.DelimiterProcessor = stress(e)
	most := longestRun
	if line[0] == '~' {
		by, most = strike{stress(e)}, longestStrike
	}
	d := parser.ScanDelimiter(line, before, 1, by)
	n := d.OriginalLength
	segment = segment.WithStop(segment.Start + n)
	e.m.spend(10 + n/16)
	r.Advance(n)
	if n > most || !d.CanOpen && !d.CanClose {
		return ast.NewTextSegment(segment)
	}
	d.Segment = segment
	pc.PushDelimiter(d)
	return d
}

// stress makes nodes of what stands between two runs of * or _.
type stress struct{ m *meter }

// IsDelimiter implements parser.DelimiterProcessor.
func (stress) IsDelimiter(b byte) bool { return b == '*' || b == '_' || b == '~' }

// CanOpenCloser implements parser.DelimiterProcessor. goldmark calls it for all runs that may begin something, back from one that may end
// something, until one fits. Runs that can only end something, and do not, leave: nobody looks at them again.
func (s stress) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	s.m.spend(2)
	return opener.Char == closer.Char && opener.CalcComsumption(closer) > 0
}

// OnMatch implements parser.DelimiterProcessor.
func (stress) OnMatch(consumes int) ast.Node { return ast.NewEmphasis(consumes) }

// strike is stress for runs of ~.
type strike struct{ stress }

// OnMatch implements parser.DelimiterProcessor.
func (strike) OnMatch(int) ast.Node { return extast.NewStrikethrough() }

// paragraphs returns goldmark's transformers of paragraphs, each with its cost.
func (m *meter) paragraphs() []util.PrioritizedValue {
	return []util.PrioritizedValue{
		util.Prioritized(pricedParagraph{m, parser.LinkReferenceParagraphTransformer, definitions}, 100),
		util.Prioritized(pricedParagraph{m, extension.NewTableParagraphTransformer(), m.table}, 200),
	}
}

// pricedParagraph is a transformer of paragraphs that spends cost each time.
type pricedParagraph struct {
	m *meter
	parser.ParagraphTransformer
	cost func(lines *text.Segments, src []byte) int
}

// Transform implements parser.ParagraphTransformer.
func (p pricedParagraph) Transform(n *ast.Paragraph, r text.Reader, pc parser.Context) {
	p.m.spend(1 + p.cost(n.Lines(), r.Source()))
	p.ParagraphTransformer.Transform(n, r, pc)
}

// definitions returns the cost of definitions of references: each is taken off the paragraph, whose lines are copied.
func definitions(lines *text.Segments, src []byte) int {
	n := 0
	for i := range lines.Len() {
		at := lines.At(i)
		if bytes.HasPrefix(bytes.TrimLeft(at.Value(src), " "), []byte("[")) {
			n++
		}
	}
	return lines.Len() + n*lines.Len()/4
}

// table returns the cost of a paragraph that may be a table: every row is filled up to the widest, and every escaped bar is compared with every
// other one of the text.
func (m *meter) table(lines *text.Segments, src []byte) int {
	columns, rules, pipes := 0, 0, 0
	for i := range lines.Len() {
		at := lines.At(i)
		line := at.Value(src)
		columns = max(columns, bytes.Count(line, []byte("|"))+1)
		pipes += bytes.Count(line, []byte(`\|`))
		if i > 0 && len(bytes.Trim(line, "-|: \t\r\n")) == 0 {
			rules++
		}
	}
	if rules == 0 {
		return lines.Len()
	}
	m.pipes += pipes
	return lines.Len() + 20*lines.Len()*columns + pipes*m.pipes/2
}
