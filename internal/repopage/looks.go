package repopage

import (
	"container/list"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/nip34"
)

// Bounds of what is kept of repositories' data.
const (
	looksBytes = 16 << 20
	looksMost  = 2000
	looksAgain = 10 * time.Minute // until something is tried again that failed
)

// looked is what was read of a repository's data.
type looked struct {
	readme         readme // without its text
	text           string
	branches, tags refList
}

// size is what it takes of the memory, about.
func (l looked) size() int {
	n := 500 + len(l.text)
	for _, refs := range [][]ref{l.branches.Shown, l.tags.Shown} {
		for _, r := range refs {
			n += 64 + len(r.Name)
		}
	}
	return n
}

// looks keeps what was read, as long as the refs are the same; what nobody asks for goes first.
type looks struct {
	mu    sync.Mutex
	by    map[nip34.Address]*list.Element // of look
	order list.List                       // the last asked for in front
	bytes int
}

type look struct {
	of         nip34.Address
	dir        string
	generation uint64
	until      time.Time // zero: as long as there is room
	looked
}

func (k *looks) get(of nip34.Address, r Repository, now time.Time) (looked, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.by[of]
	if e == nil {
		return looked{}, false
	}
	l := e.Value.(*look)
	if l.generation != r.Generation || l.dir != r.Dir || !l.until.IsZero() && !now.Before(l.until) {
		return looked{}, false
	}
	k.order.MoveToFront(e)
	return l.looked, true
}

func (k *looks) put(of nip34.Address, r Repository, now time.Time, failed bool, x looked) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.by[of]; e != nil {
		k.drop(e)
	}
	l := &look{of: of, dir: r.Dir, generation: r.Generation, looked: x}
	if failed {
		l.until = now.Add(looksAgain)
	}
	if k.by == nil {
		k.by = map[nip34.Address]*list.Element{}
	}
	k.by[of] = k.order.PushFront(l)
	for k.bytes += x.size(); k.bytes > looksBytes || k.order.Len() > looksMost; {
		k.drop(k.order.Back())
	}
}

func (k *looks) drop(e *list.Element) {
	l := k.order.Remove(e).(*look)
	delete(k.by, l.of)
	k.bytes -= l.size()
}
