package repopage

import (
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
)

const (
	keptTime  = 10 * time.Second
	keptBytes = 16 << 20
)

// kept keeps pages for keptTime, for everybody who comes soon after.
type kept struct {
	mu    sync.Mutex
	pages map[nip34.Address]made
	bytes int
}

type made struct {
	generation uint64
	at         time.Time
	html       []byte
}

// get returns the page of a repository of that generation; nil where it is not kept or too old. Nobody changes its bytes.
func (k *kept) get(of nip34.Address, generation uint64, now time.Time) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, ok := k.pages[of]
	if !ok || m.generation != generation || now.Sub(m.at) >= keptTime {
		return nil
	}
	return m.html
}

// put keeps a page. Where that makes more than keptBytes it drops all others.
func (k *kept) put(of nip34.Address, generation uint64, now time.Time, html []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bytes += len(html) - len(k.pages[of].html)
	if k.pages == nil || k.bytes > keptBytes {
		k.pages, k.bytes = map[nip34.Address]made{}, len(html)
	}
	k.pages[of] = made{generation, now, html}
}
