package repopage

import (
	"context"
	"crypto/sha256"
	"fmt"
	"html/template"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/lru"
	"github.com/graspd/graspd/internal/serve/markdown"
)

// Bounds of rendered texts and pages.
const (
	textsBytes   = 24 << 20
	keptTime     = 10 * time.Second // for which pages stay that show what may change
	textsNamed   = time.Minute      // for which a text stays that names people or events, as these get other names or go
	mostRendered = 100_000          // steps for the texts of one page; the texts beyond are shown as they were written
	textsOfEntry = 300              // bytes of a text that is kept, beside its HTML
)

// texts keeps what was made of Markdown, by the hash of the text, and whole pages, by the hash of what they show, so that nobody makes either work
// twice. Where room is short, what nobody has asked for the longest goes first.
type texts struct {
	mu   sync.Mutex
	kept *lru.Cache[[sha256.Size]byte, rendered]
}

type rendered struct {
	html  template.HTML
	until time.Time // zero: as long as there is room
}

func newTexts() texts { return texts{kept: lru.New[[sha256.Size]byte, rendered](textsBytes)} }

func (t *texts) get(key [sha256.Size]byte, now time.Time) (template.HTML, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x, ok := t.kept.Get(key)
	return x.html, ok && (x.until.IsZero() || now.Before(x.until))
}

func (t *texts) put(key [sha256.Size]byte, x rendered) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Put(key, x, textsOfEntry+len(x.html))
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
	ended := false
	o.Charge = func(steps int) error {
		b.visitor.Charge(steps)
		b.texts -= steps
		ended = b.texts < 0 || ctx.Err() != nil
		if ended {
			return errCostly
		}
		return nil
	}
	x := rendered{html: markdown.HTML(src, o)}
	if strings.Contains(src, "nostr:") {
		x.until = now.Add(textsNamed)
	}
	if !ended {
		p.texts.put(key, x)
	}
	return x.html
}
