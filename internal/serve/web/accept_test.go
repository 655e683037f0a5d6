package web_test

import (
	"net/http"
	"testing"

	"github.com/graspd/graspd/internal/serve/web"
)

// TestAccepts: the range that names a type most exactly says how much a client wants it.
func TestAccepts(t *testing.T) {
	for _, tt := range []struct {
		accept  []string
		kind    string
		quality float64
		exact   bool
	}{
		{nil, "text/html", 1, false},
		{[]string{""}, "text/html", 1, false},
		{[]string{" , ,"}, "text/html", 1, false},
		{[]string{"text/html"}, "text/html", 1, true},
		{[]string{"TEXT/HTML; charset=utf-8"}, "text/html", 1, true},
		{[]string{"text/*"}, "text/html", 1, false},
		{[]string{"*/*"}, "text/html", 1, false},
		{[]string{"application/*"}, "text/html", 0, false},
		{[]string{"image/png"}, "text/html", 0, false},
		{[]string{"text/htmlx", "xtext/html", "text/html-x, text"}, "text/html", 0, false},
		{[]string{"image/png", "text/html;q=0.25"}, "text/html", 0.25, true},
		{[]string{"text/html;level=1;Q=0.7,text/*;q=0.9,*/*;q=0.1"}, "text/html", 0.7, true},
		{[]string{"*/*;q=0.1", "text/*;q=0.5"}, "text/html", 0.5, false},
		{[]string{"text/html ; q=0 , */*"}, "text/html", 0, true},
		{[]string{"text/html;q=0.000"}, "text/html", 0, true},
		{[]string{"text/html;q=0, text/html;q=0.5"}, "text/html", 0.5, true},
		{[]string{"*/*;q=0"}, "text/html", 0, false},
		{[]string{"text/html;q=2, text/*;q=0.5"}, "text/html", 0.5, false},
		{[]string{"text/html;q=x"}, "text/html", 1, false},
		{[]string{"text/html;q=NaN, image/png"}, "text/html", 0, false},
		{[]string{`image/png;a="\"text/html, */*;q=1", text/plain`}, "text/html", 0, false},
		{[]string{`text/html;a=",;q=0";q=0.5`}, "text/html", 0.5, true},
		{[]string{"application/nostr+json"}, "application/nostr+json", 1, true},
		{[]string{"application/nostr+json+rpc"}, "application/nostr+json", 0, false},
	} {
		quality, exact := web.Accepts(http.Header{"Accept": tt.accept}, tt.kind)
		if quality != tt.quality || exact != tt.exact {
			t.Errorf("%q of %q: %v, %v", tt.kind, tt.accept, quality, exact)
		}
	}
}
