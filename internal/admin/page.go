package admin

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"github.com/graspd/graspd/internal/bidi"
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/plan"
)

//go:embed assets
var assets embed.FS

// parts are the templates of the page that change, by the id of their element.
var parts = [...]string{"problems", "nothing", "facts", "relays", "repositories", "git", "decisions", "gaps", "refusals"}

var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"number": number, "number64": func(n int) string { return number(uint64(max(0, n))) }, "short": func(s string) string { return s[:min(len(s), 8)] },
	"utc":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"minute": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
	"hint":   func(outcome string) string { return hints[outcome] }, "host": hostFacts,
}).ParseFS(assets, "assets/page.html"))

// hints say what an outcome means.
var hints = map[string]string{
	"refuse": "against the rules of this relay", "unlisted": "an announcement that does not list this relay", "unrelated": "refers to nothing that is here; taken as soon as that changes",
	"no-maintainer": "its author does not maintain the repository here; taken as soon as that changes",
	"withdraw":      "a newer announcement that no longer lists this relay", "superseded": "a newer version is here", "deleted": "its author deleted it",
	"expired": "its time is over", "vanished": "its author asked to be forgotten", "discard": "not taken this time", "invalid": "forged or malformed",
	"failed": "not decided: disk, shutdown", "duplicate": "already here",
}

// rendered is the page as it was at a time: each part by itself.
type rendered struct {
	at   time.Time
	self Self
	html map[string]template.HTML
}

// fresh is how long a rendering serves everybody who asks.
const fresh = time.Second

// render makes the parts, or returns those made just before. Who asked may leave
// meanwhile: others wait for the same.
func (p *Pages) render(ctx context.Context) (rendered, error) {
	p.rendering.Lock()
	defer p.rendering.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if time.Since(p.last.at) < fresh {
		return p.last, nil
	}
	v := p.see(ctx)
	r := rendered{at: time.Now(), self: v.Self, html: make(map[string]template.HTML, len(parts))}
	for _, name := range parts {
		var b bytes.Buffer
		if err := pageTemplate.ExecuteTemplate(&b, name, v); err != nil {
			return rendered{}, fmt.Errorf("render %s: %w", name, err)
		}
		r.html[name] = template.HTML(bidi.Escape(b.String())) // made by html/template
	}
	p.last = r
	return r, nil
}

// detailsTime is how long details serve; they cost in proportion to all that is wanted.
const detailsTime = 10 * time.Second

// details asks the engine, or returns what it told just before. The caller holds rendering.
func (p *Pages) details(ctx context.Context, now time.Time) map[grasp.RelayURL]plan.Details {
	if p.detailed == nil || now.Sub(p.detailsAt) >= detailsTime {
		p.detailed, p.detailsAt = p.c.Sync.Details(ctx), now
	}
	return p.detailed
}

// page shows everything as it is now; a script keeps it so.
func (p *Pages) page(w http.ResponseWriter, r *http.Request) {
	made, err := p.render(r.Context())
	if err != nil {
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, struct {
		Self  Self
		Parts map[string]template.HTML
	}{made.self, made.html}); err != nil {
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	head(w, "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	w.Header().Set("Referrer-Policy", "no-referrer")
	_, _ = w.Write(b.Bytes()) // whoever asked may be gone
}

// asset serves the style or the script.
func asset(name, contentType string) http.HandlerFunc {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		head(w, contentType)
		_, _ = w.Write(b)
	}
}
