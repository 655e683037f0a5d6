package relay

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/markdown"
	"github.com/graspd/graspd/internal/serve/web"
)

//go:embed page.html
var pageSource string

// pageView holds what the page shows.
type pageView struct {
	nip11.Document
	Rates        front.Rates
	Relay        grasp.RelayURL // the URL for a relays tag
	HTTP         string         // the URL for a browser
	Server       string         // this service as ngit takes it; "" where it hosts no repositories
	Base         string         // the path of the service, "" for the whole host
	Style        template.CSS
	About        template.HTML // the operator's own text; "" is none
	Icon         template.URL
	Mail         bool // the contact is a link
	Repositories []repositoryView
	More         int64 // announcements beyond the listed ones
	All, Found   int   // repositories that are listed, and those of them that the query finds
	Query        string
	Page, Pages  int
	Prev, Next   string // queries of the pages beside this one
}

// page renders the page for people. The page is the same for everybody.
type page struct {
	template *template.Template
	view     pageView
}

func newPage(d nip11.Document, about string, look web.Look, rates front.Rates, s grasp.Service) (*page, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"bytes": inBytes, "host": hostOf, "inSentence": inSentence}).Parse(pageSource)
	if err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	view := pageView{Document: d, Rates: rates, Relay: s.RelayURL(), Base: s.Base()}
	view.HTTP = "http" + strings.TrimPrefix(string(view.Relay), "ws")
	view.Style, view.Icon = look.Style(), look.Icon()
	if slices.Contains(d.SupportedGRASPs, "GRASP-01") {
		view.Server = s.ServerName()
	}
	if view.Document.Icon != "" && !strings.HasPrefix(view.Document.Icon, "data:") {
		view.Icon = template.URL(view.Document.Icon)
	}
	if u, err := url.Parse(d.Contact); err == nil {
		view.Mail = u.Scheme == "mailto" || u.Scheme == "https" || u.Scheme == "http"
	}
	if strings.TrimSpace(about) != "" {
		view.About = markdown.HTML(about, markdown.Options{Heading: 2})
	}
	if view.Name == "" {
		view.Name = s.String()
	}
	return &page{t, view}, nil
}

// render makes one page of a list; the list has the repositories that a query found among all. more is how many announcements nobody looked
// at.
func (p *page) render(list []repositoryView, all int, query string, number int, more int64) ([]byte, error) {
	view := p.view
	view.More, view.All, view.Found, view.Query, view.Page = more, all, len(list), query, number
	view.Pages = max(1, (len(list)+perPage-1)/perPage)
	from := min(len(list), (number-1)*perPage)
	view.Repositories = list[from:min(len(list), from+perPage)]
	at := func(n int) string {
		q := url.Values{}
		if query != "" {
			q.Set("q", query)
		}
		if n > 1 {
			q.Set("page", strconv.Itoa(n))
		}
		return "?" + q.Encode()
	}
	if number > 1 {
		view.Prev = at(number - 1)
	}
	if number < view.Pages {
		view.Next = at(number + 1)
	}
	var b bytes.Buffer
	if err := p.template.Execute(&b, view); err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	return []byte(safetext.EscapeBidi(b.String())), nil
}

// inBytes returns a size as people read it.
func inBytes(n int) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// inSentence returns a sentence as it stands within another one.
func inSentence(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// hostOf returns the host of a link, as a short text for the link.
func hostOf(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return link
	}
	return u.Host
}
