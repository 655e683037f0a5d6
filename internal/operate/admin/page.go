package admin

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/operate/admin/pagediff"
	"github.com/graspd/graspd/internal/status"
)

//go:embed assets
var assets embed.FS

// parts has the ids of the elements of the overview that change as one cell each, which are also the names of their templates.
var parts = [...]string{"problems", "nothing", "reports", "git", "decisions", "gaps", "refusals"}

// document is one page as it is now.
type document struct {
	where
	Title   string
	Heading string // above everything; "" is that of the overview
	Self    Self
	View    *view
	Relay   *status.Relay // on the page of a relay
	Repo    *repository   // on the page of a repository
	Version string
	cells   pagediff.Page
}

// Cell returns the content of a cell.
func (d *document) Cell(id string) template.HTML { return template.HTML(d.cells.Cell(id)) } // made by html/template

// Table returns a table as an element.
func (d *document) Table(id string) template.HTML {
	t := d.cells.Table(id)
	if t == nil {
		return ""
	}
	return template.HTML(t.HTML()) // html/template has made its cells
}

// Where returns the link to the page.
func (d *document) Where() string { return d.where.String() }

// Words returns the words of the legend.
func (d *document) Words() []status.Word { return append(status.Words(), outcomes()...) }

// Nav returns the links to the pages that are lists.
func (d *document) Nav() []chip {
	return []chip{
		{Name: "Overview", To: where{Page: 1}, Here: d.Path == overviewPage},
		{Name: "Relays", To: where{Path: relaysPage, Page: 1}, Here: d.Path == relaysPage},
		{Name: "Repositories", To: where{Path: repositoriesPage, Page: 1}, Here: d.Path == repositoriesPage},
	}
}

// fill puts into a cell what a template makes of a value. It escapes marks of direction.
func (d *document) fill(id, name string, value any) error {
	html, err := execute(name, value)
	d.cells.Cells = append(d.cells.Cells, pagediff.Cell{ID: id, HTML: html})
	return err
}

func execute(name string, value any) (string, error) {
	var b strings.Builder
	if err := pageTemplate.ExecuteTemplate(&b, name, value); err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return safetext.EscapeBidi(b.String()), nil
}

// errUnknown says that a page would be about a relay or a repository that graspd does not know.
var errUnknown = errors.New("is not followed here")

// document returns a page. It makes the page unless it has made it just before. The caller holds rendering.
func (p *Pages) document(ctx context.Context, w where) (*document, error) {
	v := p.now(ctx)
	if d := v.made[w]; d != nil {
		return d, nil
	}
	d := &document{where: w, Self: v.Status.Relay, View: v}
	var err error
	switch w.Path {
	case overviewPage:
		err = d.overview(p.history)
	case relaysPage:
		err = d.relays(p.history)
	case repositoriesPage:
		err = d.repositories()
	case relayPage:
		err = d.relay(p.history)
	case repositoryPage:
		err = d.repository(p.history)
	}
	if err != nil {
		return nil, err
	}
	d.Version = d.cells.Version()
	if len(v.made) < mostMade {
		v.made[w] = d
	}
	p.recent.put(d.Version, &d.cells)
	return d, nil
}

// mostMade bounds the pages of one view that are kept: those that streams show, and some that are loaded at the same time.
const mostMade = 2 * mostStreams

// recent has the last states of pages, by version: a stream goes on from the version with which a page was loaded.
type recent struct {
	versions []string
	pages    map[string]*pagediff.Page
}

func (r *recent) put(version string, p *pagediff.Page) {
	if r.pages == nil {
		r.pages = map[string]*pagediff.Page{}
	}
	if r.pages[version] != nil {
		return
	}
	if len(r.versions) >= mostMade {
		delete(r.pages, r.versions[0])
		r.versions = r.versions[1:]
	}
	r.versions, r.pages[version] = append(r.versions, version), p
}

// get returns the page of a version, or an empty one where that version is not kept.
func (r *recent) get(version string) *pagediff.Page {
	if p := r.pages[version]; p != nil {
		return p
	}
	return &pagediff.Page{}
}

// signed is a page for the operator who has signed in as By; By is "" on the private listener.
type signed struct {
	*document
	By string
}

// Shown returns the page itself.
func (s signed) Shown() *document { return s.document }

// page answers with a page as it is now. A script keeps the page up to date.
func (p *Pages) page(w http.ResponseWriter, r *http.Request) {
	where, err := parseWhere(strings.TrimPrefix(r.URL.Path, "/"), r.URL.Query())
	if err != nil {
		answer(w, http.StatusBadRequest, err.Error())
		return
	}
	p.rendering.Lock()
	d, err := p.document(r.Context(), where)
	p.rendering.Unlock()
	code := http.StatusOK
	var b bytes.Buffer
	switch {
	case errors.Is(err, errUnknown):
		code = http.StatusNotFound
		err = pageTemplate.ExecuteTemplate(&b, "unknown.html", map[string]any{"Self": p.self(), "Why": err.Error()})
	case err == nil:
		name, _ := r.Context().Value(operatorKey{}).(string)
		err = pageTemplate.ExecuteTemplate(&b, "page.html", signed{d, name})
	}
	if err != nil {
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	head(w, "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	w.Header().Set("Referrer-Policy", "same-origin") // with no-referrer browsers hide the origin of a form, which has to be this relay
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

func (p *Pages) self() Self { return Self{URL: string(p.c.URL), Version: p.c.Version} }

// asset returns a handler that serves the style, the script or the picture.
func asset(name, contentType string) http.HandlerFunc {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		head(w, contentType)
		_, _ = w.Write(b)
	}
}
