package admin

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/status"
)

//go:embed assets
var assets embed.FS

// document is one page as it is now.
type document struct {
	c Config
	pageRef
	Title          string
	Heading        string // above everything; "" is that of the overview
	Self           Self
	By             string // the operator who has signed in; "" on the private listener
	Called         string // what that operator calls themselves
	May            bool   // who looks may change something, so that the page has its buttons
	View           *view
	Relay          *relayRow   // on the page of a relay
	Repo           *repository // on the page of a repository
	Gaps           []gapView
	RelayList      list
	RepositoryList list
	Main           template.HTML // the content, without what stands around it
	Version        string        // names Main: a browser that has it gets nothing
}

// titled returns gaps with what people call their events.
func (d *document) titled(list []gapView) []gapView {
	out := slices.Clone(list)
	for i := range out {
		out[i].Title = d.c.title(moderation.One(out[i].ID))
	}
	return out
}

// named returns a copy of a repository with its name and its owner's, as everybody shares the repository itself.
func (d *document) named(r repository) *repository {
	r.RepositoryStatus = d.c.named(r.RepositoryStatus)
	return &r
}

// Link returns the link to the page.
func (d *document) Link() string { return d.pageRef.String() }

// Words returns the words of the legend.
func (d *document) Words() []status.Word { return append(status.Words(), outcomes()...) }

// Nav returns the links to the pages that are lists.
func (d *document) Nav() []chip {
	return []chip{
		{Name: "Overview", To: pageRef{Page: 1}, Here: d.Path == overviewPage},
		{Name: "Relays", To: pageRef{Path: relaysPage, Page: 1}, Here: d.Path == relaysPage},
		{Name: "Repositories", To: pageRef{Path: repositoriesPage, Page: 1}, Here: d.Path == repositoriesPage},
	}
}

// errUnknown says that a page would be about a relay or a repository that graspd does not know.
var errUnknown = errors.New("is not followed here")

// document returns a page with all but its Main. The caller holds rendering.
func (p *Pages) document(ctx context.Context, w pageRef) (*document, error) {
	d := &document{c: p.c, pageRef: w, Self: p.self(), View: p.now(ctx)}
	d.By, _ = ctx.Value(operatorKey{}).(string)
	d.May = let(ctx)
	if s, err := moderation.ParseAuthor(d.By); err == nil {
		d.Called = p.c.title(s)
	}
	switch w.Path {
	case overviewPage:
		d.overview(p.history)
	case relaysPage:
		d.relays(p.history)
	case repositoriesPage:
		d.repositories()
	case relayPage:
		return d, d.relay(p.history)
	case repositoryPage:
		return d, d.repository()
	}
	return d, nil
}

// page answers with a page as it is now. A script keeps the page up to date: it asks again, and takes over what differs.
func (p *Pages) page(w http.ResponseWriter, r *http.Request) {
	ref, err := parsePageRef(strings.TrimPrefix(r.URL.Path, "/"), r.URL.Query())
	if err != nil {
		answer(w, http.StatusBadRequest, err.Error())
		return
	}
	p.rendering.Lock()
	d, err := p.document(r.Context(), ref)
	p.rendering.Unlock()
	code, whole := http.StatusOK, ""
	switch {
	case errors.Is(err, errUnknown):
		code = http.StatusNotFound
		whole, err = execute("unknown.html", map[string]any{"Self": p.self(), "Why": err.Error()})
	case err == nil:
		whole, err = d.render()
	}
	if err != nil {
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	head(w, "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	w.Header().Set("Referrer-Policy", "same-origin") // with no-referrer browsers hide the origin of a form, which has to be this relay
	if d.Version != "" {
		w.Header().Set("ETag", d.Version)
		if r.Header.Get("If-None-Match") == d.Version {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(code)
	_, _ = io.WriteString(w, whole) // the client may be gone
}

// render returns the page.
func (d *document) render() (string, error) {
	main, err := execute("main.html", d)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(main))
	d.Main, d.Version = template.HTML(main), `"`+hex.EncodeToString(sum[:12])+`"` // html/template has made it
	return execute("page.html", d)
}

// execute returns what a template makes of a value, with marks of direction escaped.
func execute(name string, value any) (string, error) {
	var b strings.Builder
	if err := pageTemplate.ExecuteTemplate(&b, name, value); err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return safetext.EscapeBidi(b.String()), nil
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
