package markdown

import (
	"html/template"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
	"golang.org/x/net/html"
)

// shower writes the nodes that need care: links, images and HTML, which are not written as they stand, and code, so that the keyboard
// reaches it.
type shower struct {
	Options
	m *meter
}

// RegisterFuncs implements renderer.NodeRenderer.
func (s shower) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, s.link)
	r.Register(ast.KindAutoLink, s.autoLink)
	r.Register(ast.KindImage, s.image)
	r.Register(ast.KindRawHTML, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
		return ast.WalkSkipChildren, nil // a tag goes; the text between tags stays
	})
	r.Register(ast.KindHTMLBlock, block)
	r.Register(ast.KindCodeBlock, code)
	r.Register(ast.KindFencedCodeBlock, code)
	r.Register(kindReference, s.reference)
	r.Register(extast.KindTaskCheckBox, task)
}

// open begins a link. A definition of a few bytes may let a short text use a long URL again and again.
func (s shower) open(w util.BufWriter, url string) {
	s.m.spend(4 * len(url))
	_, _ = w.WriteString(`<a href="` + template.HTMLEscapeString(string(util.URLEscape([]byte(url), false))) + `" rel="nofollow noreferrer ugc">`)
}

// resolved returns a destination without escapes and entities, so that nobody reads it differently later.
func resolved(destination []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(destination))))
}

func (s shower) link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	url := resolved(n.(*ast.Link).Destination)
	if name, ok := strings.CutPrefix(url, "nostr:"); !ok {
		url = s.safe(url)
	} else if url = ""; s.Reference != nil {
		_, url = s.Reference(name)
	}
	if url == "" {
		return ast.WalkContinue, nil
	}
	if entering {
		s.open(w, url)
	} else {
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

func (s shower) autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	l := n.(*ast.AutoLink)
	label, url := string(l.Label(source)), string(l.URL(source))
	if l.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(url), "mailto:") {
		url = "mailto:" + url
	}
	if name, ok := strings.CutPrefix(url, "nostr:"); ok {
		s.show(w, name)
		return ast.WalkContinue, nil
	}
	if url = s.safe(url); url != "" {
		s.open(w, url)
		defer func() { _, _ = w.WriteString("</a>") }()
	}
	_, _ = w.WriteString(template.HTMLEscapeString(label))
	return ast.WalkContinue, nil
}

// task writes the box of a task, which nobody can tick here.
func task(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		box := `<span role="img" aria-label="to do">☐</span> `
		if n.(*extast.TaskCheckBox).IsChecked {
			box = `<span role="img" aria-label="done">☑</span> `
		}
		_, _ = w.WriteString(box)
	}
	return ast.WalkContinue, nil
}

// own returns the URL of an image that this service has; "" for any other.
func (s shower) own(n *ast.Image) string {
	url := resolved(n.Destination)
	if s.Picture == nil || !isRelative(url) || strings.HasPrefix(url, "//") {
		return ""
	}
	return s.Picture(url)
}

func (s shower) picture(w util.BufWriter, source []byte, n *ast.Image, url string) {
	s.m.spend(4*len(url) + 1)
	_, _ = w.WriteString(`<img src="` + template.HTMLEscapeString(string(util.URLEscape([]byte(url), false))) + `" alt="` + template.HTMLEscapeString(s.m.textOf(n, source)) + `" loading="lazy">`)
}

// image writes an image as a link, and within a link only its text. A page that loaded what strangers name would tell them who reads it.
func (s shower) image(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if own := s.own(n.(*ast.Image)); own != "" {
		if entering {
			s.picture(w, source, n.(*ast.Image), own)
		}
		return ast.WalkSkipChildren, nil
	}
	url, within := s.safe(resolved(n.(*ast.Image).Destination)), false
	for p := n.Parent(); p != nil; p = p.Parent() {
		s.m.spend(1)
		within = within || p.Kind() == ast.KindLink
	}
	linked := url != "" && !within
	if !entering {
		if linked {
			_, _ = w.WriteString("</a>")
		}
		return ast.WalkContinue, nil
	}
	if linked {
		s.open(w, url)
	}
	if n.FirstChild() == nil {
		_, _ = w.WriteString("image")
	}
	return ast.WalkContinue, nil
}

func code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(`<pre tabindex="0"><code>`)
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		_, _ = w.WriteString(template.HTMLEscapeString(string(line.Value(source))))
	}
	_, _ = w.WriteString("</code></pre>\n")
	return ast.WalkSkipChildren, nil
}

// block writes only the text of a block of HTML.
func block(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(source))
	}
	if h := n.(*ast.HTMLBlock); h.HasClosure() {
		b.Write(h.ClosureLine.Value(source))
	}
	if s := strings.TrimSpace(textOf(b.String())); s != "" {
		_, _ = w.WriteString("<p>" + template.HTMLEscapeString(s) + "</p>\n")
	}
	return ast.WalkSkipChildren, nil
}

// textOf returns the text of a piece of HTML, without that of scripts and styles.
func textOf(s string) string {
	var b strings.Builder
	z, skip := html.NewTokenizer(strings.NewReader(s)), ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) == "script" || string(name) == "style" {
				skip = string(name)
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == skip {
				skip = ""
			}
		case html.TextToken:
			if skip == "" {
				b.WriteString(html.UnescapeString(string(z.Raw())))
			}
		}
	}
}

func (s shower) reference(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		s.show(w, n.(*reference).name)
	}
	return ast.WalkContinue, nil
}

func (s shower) show(w util.BufWriter, name string) {
	shown, url := name[:min(len(name), 12)]+"…", ""
	if commit.MatchString(name) {
		if shown = name; s.Commit != nil {
			url = s.Commit(name)
		}
		if url != "" {
			shown = name[:min(len(name), 10)]
		}
	} else if s.Reference != nil {
		shown, url = s.Reference(name)
	}
	if url != "" {
		_, _ = w.WriteString(`<a href="` + template.HTMLEscapeString(url) + `">`)
		defer func() { _, _ = w.WriteString("</a>") }()
	}
	_, _ = w.WriteString(template.HTMLEscapeString(shown))
}
