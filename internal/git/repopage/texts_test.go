package repopage

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/serve/markdown"
)

// TestTextsAreRenderedOnce: a text is kept by what it says and how it is shown, within a bound, and what names people only for a minute.
func TestTextsAreRenderedOnce(t *testing.T) {
	now := time.Unix(1, 0)
	p := New(Config{Now: func() time.Time { return now }})
	names := 0
	named := func(string) (string, string) { names++; return fmt.Sprint("name ", names), "" }
	show := func(src string, heading int) (html string, left int) {
		b := p.bill(nil)
		html = string(p.markdown(t.Context(), b, src, markdown.Options{Heading: heading, Reference: named}))
		return html, mostRendered - b.texts
	}
	long := strings.Repeat("*a* b\n", 2000)
	first, cost := show(long, 2)
	if again, more := show(long, 2); again != first || cost == 0 || more != 0 {
		t.Errorf("%d steps, and then %d", cost, more)
	}
	if other, _ := show("# a", 2); other != "<h2>a</h2>\n" {
		t.Errorf("%q", other)
	}
	if other, _ := show("# a", 3); other != "<h3>a</h3>\n" {
		t.Errorf("at another level: %q", other)
	}
	who := "nostr:npub1" + strings.Repeat("q", 58)
	for i, want := range []string{"name 1", "name 1", "name 2"} {
		if html, _ := show(who, 2); html != "<p>"+want+"</p>\n" {
			t.Errorf("%d: %q", i, html)
		}
		now = now.Add(30 * time.Second)
	}
	plain := strings.Repeat("much ", 10_000)
	for i := range 600 {
		show(fmt.Sprint(i)+plain, 2)
		if p.texts.all.Cost() > textsBytes {
			t.Fatalf("%d bytes", p.texts.all.Cost())
		}
	}
}

// TestTextsOfAPageAreBounded: when the texts of a page have taken what they may, or the asker has left, the others are shown as they were
// written, and nobody else gets these.
func TestTextsOfAPageAreBounded(t *testing.T) {
	p := New(Config{})
	b := p.bill(nil)
	text := func(i int) string { return fmt.Sprint(i) + strings.Repeat(" *a* b\n", 3000) }
	shown := func(b *bill, i int) bool {
		return strings.Contains(string(p.markdown(t.Context(), b, text(i), markdown.Options{})), "<em>")
	}
	n := 0
	for n < 1000 && shown(b, n) {
		n++
	}
	if n < 10 || n == 1000 || b.texts > 0 {
		t.Fatalf("%d texts are rendered, %d steps are left", n, b.texts)
	}
	if shown(b, n+1) || !shown(b, 0) {
		t.Error("what is kept costs nothing, and all else cannot be paid")
	}
	if !shown(p.bill(nil), n) {
		t.Error("the next page has its own")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if html := p.markdown(gone, p.bill(nil), text(2000), markdown.Options{}); strings.Contains(string(html), "<em>") {
		t.Error("the work goes on for who has left")
	}
	if !shown(p.bill(nil), 2000) {
		t.Error("what was not rendered for somebody is kept for others")
	}
}
