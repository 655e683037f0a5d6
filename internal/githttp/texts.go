package githttp

import (
	"container/list"
	"sync"
)

// textKey names an answer that follows from a repository's refs.
type textKey struct {
	dir        string
	generation uint64
	asked      string // what was asked, in one form
}

// texts are answers that were made and may be asked for again, those that were wanted last within a bound.
type texts struct {
	most int

	mu    sync.Mutex // guards what follows
	byKey map[textKey]*list.Element
	order list.List // of *text, the one that was wanted last in front
	bytes int
}

type text struct {
	key  textKey
	body []byte
}

func newTexts(most int) *texts { return &texts{most: most, byKey: map[textKey]*list.Element{}} }

// size is what a text takes.
func (t *text) size() int { return len(t.body) + len(t.key.asked) + len(t.key.dir) + 200 }

func (s *texts) get(k textKey) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[k]
	if e == nil {
		return nil, false
	}
	s.order.MoveToFront(e)
	return e.Value.(*text).body, true
}

// put keeps a text, unless it is larger than an eighth of all. Nobody may change it from then on.
func (s *texts) put(k textKey, body []byte) {
	t := &text{k, body}
	if t.size() > s.most/8 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[k] != nil { // somebody else made the same
		return
	}
	s.byKey[k] = s.order.PushFront(t)
	for s.bytes += t.size(); s.bytes > s.most; {
		last := s.order.Remove(s.order.Back()).(*text)
		delete(s.byKey, last.key)
		s.bytes -= last.size()
	}
}
