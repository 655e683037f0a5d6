package repopage

import (
	"sync"
	"time"

	"github.com/graspd/graspd/internal/lru"
	"github.com/graspd/graspd/internal/nip34"
)

// Bounds of what is kept of repositories' data.
const (
	looksBytes = 16 << 20
	looksMost  = 2000             // so each counts as so much at least that these are all
	looksAgain = 10 * time.Minute // until something is tried again that failed
)

// looked is what was read of a repository's data.
type looked struct {
	readme         readme // without its text
	text           string
	branches, tags refList
}

// cost is what it takes of the memory, about, or what it counts at least.
func (l looked) cost() int {
	n := 500 + len(l.text)
	for _, refs := range [][]ref{l.branches.Shown, l.tags.Shown} {
		for _, r := range refs {
			n += 64 + len(r.Name)
		}
	}
	return max(n, looksBytes/looksMost)
}

// looks keeps what was read, as long as the refs are the same; what nobody asks for goes first.
type looks struct {
	mu   sync.Mutex
	kept *lru.Cache[nip34.Address, look]
}

type look struct {
	dir        string
	generation uint64
	until      time.Time // zero: as long as there is room
	looked
}

func newLooks() looks { return looks{kept: lru.New[nip34.Address, look](looksBytes)} }

func (k *looks) get(of nip34.Address, r Repository, now time.Time) (looked, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, ok := k.kept.Get(of)
	if !ok || l.generation != r.Generation || l.dir != r.Dir || !l.until.IsZero() && !now.Before(l.until) {
		return looked{}, false
	}
	return l.looked, true
}

func (k *looks) put(of nip34.Address, r Repository, now time.Time, failed bool, x looked) {
	l := look{dir: r.Dir, generation: r.Generation, looked: x}
	if failed {
		l.until = now.Add(looksAgain)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept.Put(of, l, x.cost())
}
