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
	looksMost  = 2000             // repositories: each costs at least the share of looksBytes that allows so many
	looksAgain = 10 * time.Minute // after so long a repository that could not be read is tried again
)

// looked has what was read of a repository's data.
type looked struct {
	readme         readme // without its text
	text           string
	branches, tags refList
}

// cost returns about how many bytes it takes, and at least what looksMost makes it cost.
func (l looked) cost() int {
	n := 500 + len(l.text)
	for _, refs := range [][]ref{l.branches.Shown, l.tags.Shown} {
		for _, r := range refs {
			n += 64 + len(r.Name)
		}
	}
	return max(n, looksBytes/looksMost)
}

// looks keeps what was read as long as the refs stay the same. Where room is short, what nobody has asked for the longest goes first.
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
