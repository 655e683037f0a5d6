package repopage

import (
	"context"
	"crypto/sha256"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/serve/markdown"
)

// Bounds of rendered texts and pages.
const (
	textsBytes   = 24 << 20
	keptTime     = 10 * time.Second // for which pages stay that show what may change
	textsNamed   = time.Minute      // for which a text stays that names people, events or short ids, as these get other names or go
	mostRendered = 100_000          // steps for the texts of one page; the texts beyond are shown as they were written
	textsOfEntry = 300              // bytes of a text that is kept, beside its HTML
)

// texts keeps what was made of Markdown, by the hash of the text, and whole pages, by the hash of what they show, so that nobody makes either work
// twice.
type texts struct {
	*kept[[sha256.Size]byte, template.HTML]
}

func newTexts() texts { return texts{newKept[[sha256.Size]byte, template.HTML](textsBytes)} }

// put keeps a text until a time, or with none as long as there is room.
func (t texts) put(key [sha256.Size]byte, html template.HTML, end time.Time) {
	t.kept.put(key, html, end, textsOfEntry+len(html))
}

// markdown renders a text of a page. The visitor pays for the work, which ends when the page has rendered too much or when ctx has ended: then
// the text is shown as it was written.
func (p *Pages) markdown(ctx context.Context, b *bill, src string, o markdown.Options) template.HTML {
	now, key := p.Now(), sha256.Sum256([]byte(string(rune('0'+o.Heading))+o.Place+"\x00"+src))
	if html, ok := p.texts.get(key, now); ok {
		return html
	}
	if o.Anchors == "" && strings.Contains(src, "[^") { // footnotes, beside those of other texts
		o.Anchors = fmt.Sprintf("n%x-", key[:4])
	}
	ended, seen, open := false, b.short.seen, b.short.open
	o.Charge = func(steps int) error {
		b.visitor.Charge(steps)
		b.texts -= steps
		ended = b.texts < 0 || ctx.Err() != nil
		if ended {
			return errCostly
		}
		return nil
	}
	html, end := markdown.HTML(src, o), time.Time{}
	if strings.Contains(src, "nostr:") || b.short.seen > seen {
		end = now.Add(textsNamed)
	}
	if !ended && b.short.open == open {
		p.texts.put(key, html, end)
	}
	return html
}
