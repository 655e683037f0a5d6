package gitrepo

import (
	"slices"
	"sync"
)

// live is what is known of the repositories that somebody uses at the moment.
type live struct {
	mu sync.Mutex // guards the map, and of what is in it all but the lock
	m  map[ID]*repository
}

// repository is one that somebody uses.
type repository struct {
	uses        int        // the repository is forgotten with the last one
	change      sync.Mutex // held while files of the repository are changed
	quarantines int        // beside it, at the moment
	begun       int        // quarantines so far
	removed     int        // times
	maintenance *maintenance
	readers     []*cohort // in the order in which they began; the last one is of those who begin now
}

// cohort is the readers that began between two swaps of packs.
type cohort struct {
	n    int
	gone []string // files that nobody needs who begins after them
}

// hold keeps what is known of a repository.
func (l *live) hold(repo ID) *repository {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.m[repo]
	if !ok {
		r = &repository{readers: []*cohort{{}}}
		l.m[repo] = r
	}
	r.uses++
	return r
}

func (l *live) release(repo ID, r *repository) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.uses--; r.uses == 0 {
		delete(l.m, repo)
	}
}

// lock makes whoever calls it the only one to change a repository, until they call what it returns.
func (l *live) lock(repo ID) (r *repository, unlock func()) {
	r = l.hold(repo)
	r.change.Lock()
	return r, func() {
		r.change.Unlock()
		l.release(repo, r)
	}
}

// neighbour is a repository that a quarantine is beside of.
type neighbour struct {
	l       *live
	id      ID
	r       *repository // nil beside none
	removed int
}

// beside counts a quarantine, until its end.
func (l *live) beside(repo ID) neighbour {
	n := neighbour{l: l, id: repo}
	if repo.IsZero() {
		return n
	}
	n.r = l.hold(repo)
	l.mu.Lock()
	defer l.mu.Unlock()
	n.r.quarantines++
	n.r.begun++
	n.removed = n.r.removed
	return n
}

func (n neighbour) end() {
	if n.r == nil {
		return
	}
	n.l.mu.Lock()
	n.r.quarantines--
	n.l.mu.Unlock()
	n.l.release(n.id, n.r)
}

// is reports whether a repository is the one that the quarantine is beside of since it began.
func (n neighbour) is(r *repository) bool {
	n.l.mu.Lock()
	defer n.l.mu.Unlock()
	return n.r == r && n.removed == r.removed
}

// read counts a reader of a repository: no pack goes that it may need, until what it returns is called.
func (d *Disk) read(repo ID) (end func()) {
	r := d.live.hold(repo)
	d.live.mu.Lock()
	c := r.readers[len(r.readers)-1]
	c.n++
	d.live.mu.Unlock()
	return func() {
		d.live.mu.Lock()
		c.n--
		last := r.readers[0].n == 0 && len(r.readers) > 1
		d.live.mu.Unlock()
		if last {
			r.change.Lock()
			if err := d.unlinkGone(repo, r); err != nil {
				d.log.Warn("files of old packs stay for now", "repository", repo.String(), "error", err)
			}
			r.change.Unlock()
		}
		d.live.release(repo, r)
	}
}

// retire has files removed when all readers have ended that are there now. The repository is locked.
func (l *live) retire(r *repository, files []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.readers[len(r.readers)-1].gone = files
	r.readers = append(r.readers, &cohort{})
}

// unneeded takes the files out that no reader needs any more, and reports whether others wait.
func (l *live) unneeded(r *repository) (files []string, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(r.readers) > 1 && r.readers[0].n == 0 {
		files = append(files, r.readers[0].gone...)
		r.readers = r.readers[1:]
	}
	return files, len(r.readers) > 1
}

// rescue keeps files that were to be removed.
func (l *live) rescue(r *repository, rescued func(file string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range r.readers {
		c.gone = slices.DeleteFunc(c.gone, rescued)
	}
}
