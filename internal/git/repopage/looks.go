package repopage

import (
	"context"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/lru"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Bounds of what is kept of repositories' data.
const (
	looksBytes = 16 << 20
	looksMost  = 2000             // repositories: each costs at least the share of looksBytes that allows so many
	looksAgain = 10 * time.Minute // after so long a repository that could not be read is tried again
	looksSlow  = time.Second      // what takes so long is read again after looksRest times as long, whatever its refs are
	looksRest  = 60
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

// looks keeps what was read as long as the refs stay the same. Where room is short, what nobody has asked for the longest goes first. One reader
// at a time reads a repository, and the others wait for what they find. A repository that was slow, or could not be read, is left alone for a
// while: other refs do not change that, as its owner makes them.
type looks struct {
	mu      sync.Mutex
	kept    *lru.Cache[nip34.Address, look]
	reading map[nip34.Address]chan struct{} // closed when the repository has been read
}

type look struct {
	dir        string
	generation uint64
	failed     bool
	rests      time.Time // until when the repository is left alone; zero for one that was read quickly
	looked
}

func newLooks() looks {
	return looks{kept: lru.New[nip34.Address, look](looksBytes), reading: map[nip34.Address]chan struct{}{}}
}

// begin returns what is kept of a repository, or that the caller is to read it, and to call end afterwards. It waits for whoever reads the
// repository already, and fails with the cause of ctx.
func (k *looks) begin(ctx context.Context, of nip34.Address, r Repository, now func() time.Time) (l looked, kept bool, end func(), err error) {
	for {
		l, kept, others := k.get(of, r, now())
		if kept {
			return l, true, nil, nil
		}
		if others == nil {
			return looked{}, false, func() { k.end(of) }, nil
		}
		select {
		case <-others:
		case <-ctx.Done():
			return looked{}, false, nil, context.Cause(ctx)
		}
	}
}

// get returns what is kept, or a channel that closes when somebody else has read the repository; nil where the caller is to read it.
func (k *looks) get(of nip34.Address, r Repository, now time.Time) (_ looked, kept bool, others chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, ok := k.kept.Get(of)
	switch same, rests := l.generation == r.Generation && l.dir == r.Dir, now.Before(l.rests); {
	case ok && same && (rests || !l.failed):
		return l.looked, true, nil
	case ok && rests:
		return looked{readme: readme{Slow: true}}, true, nil
	}
	if others := k.reading[of]; others != nil {
		return looked{}, false, others
	}
	k.reading[of] = make(chan struct{})
	return looked{}, false, nil
}

func (k *looks) end(of nip34.Address) {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.reading[of])
	delete(k.reading, of)
}

// put keeps what was read within some time, or that it could not be read.
func (k *looks) put(of nip34.Address, r Repository, now time.Time, took time.Duration, failed bool, x looked) {
	l := look{dir: r.Dir, generation: r.Generation, failed: failed, looked: x}
	switch {
	case failed:
		l.rests = now.Add(looksAgain)
	case took >= looksSlow:
		l.rests = now.Add(min(looksAgain, looksRest*took))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept.Put(of, l, x.cost())
}
