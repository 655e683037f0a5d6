package gitrepo

import (
	"errors"
	"slices"
)

// readerEpoch is the readers that began between two swaps of packs.
type readerEpoch struct {
	n    int
	gone []string // files that nobody needs who begins after them
}

// read counts a reader of a repository: no pack that the reader may need is removed until the returned function is called. That one reports whether
// files went with the reader.
func (l *inUse) read(repo ID) (end func() bool) {
	r := l.hold(repo)
	l.mu.Lock()
	c := r.readers[len(r.readers)-1]
	c.n++
	l.mu.Unlock()
	return func() bool {
		l.mu.Lock()
		c.n--
		last := r.readers[0].n == 0 && len(r.readers) > 1
		l.mu.Unlock()
		if last {
			r.change.Lock()
			if err := l.unlinkGone(repo, r); err != nil {
				l.log.Warn("files of old packs stay for now", "repository", repo.String(), "error", err)
			}
			r.change.Unlock()
		}
		l.release(repo, r)
		return last
	}
}

// retire has files removed as soon as all present readers have ended. The caller holds the repository's lock.
func (l *inUse) retire(r *repository, files []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.readers[len(r.readers)-1].gone = files
	r.readers = append(r.readers, &readerEpoch{})
}

// unneeded takes out the files that no reader needs any more, and reports whether others wait.
func (l *inUse) unneeded(r *repository) (files []string, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(r.readers) > 1 && r.readers[0].n == 0 {
		files = append(files, r.readers[0].gone...)
		r.readers = r.readers[1:]
	}
	return files, len(r.readers) > 1
}

// leaving returns the files that are to be removed.
func (l *inUse) leaving(r *repository) (files []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range r.readers {
		files = append(files, c.gone...)
	}
	return files
}

// stay keeps packs that were to be removed and that a depot says the repository has again. The caller holds the repository's lock.
func (l *inUse) stay(repo ID, r *repository) error {
	if l.packs.depot == nil || len(l.leaving(r)) == 0 {
		return nil
	}
	m, err := l.packs.depot.Manifest(repo)
	for _, p := range m {
		err = errors.Join(err, l.rescue(repo, r, p.Name.String()))
	}
	return err
}

// keep keeps files that were to be removed.
func (l *inUse) keep(r *repository, rescued func(file string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range r.readers {
		c.gone = slices.DeleteFunc(c.gone, rescued)
	}
}
