package githttp

import (
	"sync"

	"github.com/graspd/graspd/internal/base/lru"
)

// textKey names an answer that depends only on a repository's refs.
type textKey struct {
	dir        string
	generation uint64
	asked      string // the request, in one form
}

// texts keeps answers that clients may ask for again. Where room is short, the one used longest ago goes first.
type texts struct {
	largest int // bytes of the largest that put keeps

	mu   sync.Mutex // guards the fields below
	kept *lru.Cache[textKey, []byte]
}

func newTexts(most int) *texts {
	return &texts{largest: most / 8, kept: lru.New[textKey, []byte](most)}
}

// size returns the memory that a text takes, in bytes.
func (k *textKey) size(body []byte) int { return len(body) + len(k.asked) + len(k.dir) + 200 }

func (s *texts) get(k textKey) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.Get(k)
}

// put keeps a text that is no larger than largest. Nobody may change it from then on.
func (s *texts) put(k textKey, body []byte) {
	size := k.size(body)
	if size > s.largest {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Put(k, body, size)
}
