package repopage

import (
	"embed"
	"html/template"
	"net/http"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/serve/web"
)

// page is one page: what stands around its content, and the content, which the template of that name shows. A new kind of page is a struct
// with a template of its own.
type page struct {
	frame
	template string // "" for a page without content
	content  any
}

// frame is what stands around the content of every page.
type frame struct {
	Title       string
	Lead        string // the first words below the title
	Summary     string // for search engines; "" is what they hear of a repository
	Canonical   string // the URL by which the page is known
	Path        string // of the repository's own page; "" where the page leads to none of the repository
	Name        string // of the repository, on pages whose Title is another
	Code        bool   // there are pages of files and commits
	Tab         string // where the page stands among those of the repository: overview, files, commits, or the path of a section
	Relay, Home string // the name of the service, and the path of its start page
	Style       template.CSS
	Icon        template.URL
	Main        template.HTML
}

//go:embed *.html
var sources embed.FS

var pageTemplate = template.Must(template.New("").Funcs(template.FuncMap{
	"sections": func() []section { return sections },
	"feeds":    func() []string { return feedNames },
	"feed":     func(path string) string { return feeds[path].Name },
	"inc":      func(n int) int { return n + 1 },
	"dec":      func(n int) int { return n - 1 },
	"linked":   func(code string, l refList) linkedRefs { return linkedRefs{l, code} },
}).ParseFS(sources, "*.html"))

func (p *Pages) render(x page) ([]byte, error) {
	if x.template != "" {
		html, err := execute(x.template, x.content)
		if err != nil {
			return nil, err
		}
		x.Main = template.HTML(html) // html/template has made it
	}
	x.Code = p.Code != nil
	x.Relay, x.Home, x.Style, x.Icon = p.Service.String(), p.Service.Base()+"/", p.Look.Style(), p.Look.Icon()
	html, err := execute("page.html", x.frame)
	return []byte(safetext.EscapeBidi(html)), err
}

func execute(name string, value any) (string, error) {
	var b strings.Builder
	err := pageTemplate.ExecuteTemplate(&b, name, value)
	return b.String(), err
}

// leadBack gives a page the way through a repository where its announcement is served.
func (f *frame) leadBack(p *Pages, of nip34.Address) {
	if _, found, err := p.Find(of); err != nil || !found {
		return
	}
	s := p.Store.View()
	defer s.Close()
	if name, err := named(s, of); err == nil {
		f.Path, f.Name = p.path(of), name
	}
}

// fail answers with a page that says what is wrong.
func (p *Pages) fail(w http.ResponseWriter, req *http.Request, status int, title, text string) {
	p.failAt(w, req, status, frame{Title: title, Lead: text})
}

// failAt is fail with a page that leads back to a repository.
func (p *Pages) failAt(w http.ResponseWriter, req *http.Request, status int, f frame) {
	html, err := p.render(page{frame: f})
	if err != nil {
		p.Logger.Error("a page that tells an error cannot be made", "error", err)
		http.Error(w, f.Title, status)
		return
	}
	p.Look.Answer(w, req, status, web.HTML, html)
}
