package relay

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"github.com/graspd/graspd/internal/bidi"
	"github.com/graspd/graspd/internal/front"
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip11"
)

//go:embed page.html
var pageSource string

// pageView is what the page shows.
type pageView struct {
	nip11.Document
	Rates        front.Rates
	Relay        grasp.RelayURL // as it stands in a relays tag
	HTTP         string         // the same place for a browser
	Repositories []repositoryView
	More         int64 // repositories beyond these
}

// page is the page for people, which is the same for everybody.
type page struct {
	template *template.Template
	view     pageView
}

func newPage(d nip11.Document, rates front.Rates, s grasp.Service) (*page, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"bytes": inBytes, "host": hostOf}).Parse(pageSource)
	if err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	view := pageView{Document: d, Rates: rates, Relay: s.RelayURL()}
	view.HTTP = "http" + strings.TrimPrefix(string(view.Relay), "ws")
	if view.Name == "" {
		view.Name = s.String()
	}
	return &page{t, view}, nil
}

// render makes the page with a list of repositories, and says how many more there are.
func (p *page) render(list []repositoryView, more int64) ([]byte, error) {
	view := p.view
	view.Repositories, view.More = list, more
	var b bytes.Buffer
	if err := p.template.Execute(&b, view); err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	return []byte(bidi.Escape(b.String())), nil
}

// inBytes writes a size as people read it.
func inBytes(n int) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// hostOf is what people know a link by.
func hostOf(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return link
	}
	return u.Host
}
