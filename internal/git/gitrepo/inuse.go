package gitrepo

import (
	"log/slog"
	"sync"
)

// inUse keeps what is known of the repositories that somebody uses at the moment, and removes the files of packs that no reader needs.
type inUse struct {
	packs *packs
	log   *slog.Logger

	mu sync.Mutex // guards the map, and of what is in it all but the lock
	m  map[ID]*repository
}

// repository is one that somebody uses.
type repository struct {
	uses        int          // the repository is forgotten with the last one
	change      sync.Mutex   // held while files of the repository are changed
	swap        sync.RWMutex // held while a commit puts combined packs in the place of others, and by who begins a quarantine
	quarantines int          // beside it, at the moment
	begun       int          // quarantines so far
	removed     int          // times
	maintenance *maintenance
	readers     []*readerEpoch // in the order in which they began; the last one is of those who begin now
}

func newInUse(packs *packs, log *slog.Logger) *inUse {
	return &inUse{packs: packs, log: log, m: map[ID]*repository{}}
}

// hold keeps what is known of a repository.
func (l *inUse) hold(repo ID) *repository {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.m[repo]
	if !ok {
		r = &repository{readers: []*readerEpoch{{}}}
		l.m[repo] = r
	}
	r.uses++
	return r
}

// release forgets a repository with the last one who holds it.
func (l *inUse) release(repo ID, r *repository) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.uses--; r.uses == 0 {
		delete(l.m, repo)
	}
}

// lock lets only its caller change a repository until the returned function is called.
func (l *inUse) lock(repo ID) (r *repository, unlock func()) {
	r = l.hold(repo)
	r.change.Lock()
	return r, func() {
		r.change.Unlock()
		l.release(repo, r)
	}
}

// neighbour is a repository that a quarantine is beside.
type neighbour struct {
	l       *inUse
	id      ID
	r       *repository // nil beside none
	removed int
}

// beside counts a quarantine, until its end.
func (l *inUse) beside(repo ID) neighbour {
	n := neighbour{l: l, id: repo}
	if repo.IsZero() {
		return n
	}
	n.r = l.hold(repo)
	n.r.swap.RLock()
	defer n.r.swap.RUnlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	n.r.quarantines++
	n.r.begun++
	n.removed = n.r.removed
	return n
}

// end says that the quarantine is no more.
func (n neighbour) end() {
	if n.r == nil {
		return
	}
	n.l.mu.Lock()
	n.r.quarantines--
	n.l.mu.Unlock()
	n.l.release(n.id, n.r)
}

// is reports whether r is the repository beside which the quarantine began, and has not been removed since.
func (n neighbour) is(r *repository) bool {
	n.l.mu.Lock()
	defer n.l.mu.Unlock()
	return n.r == r && n.removed == r.removed
}
