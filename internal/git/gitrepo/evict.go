package gitrepo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/events/refdb"
)

// reserve makes room for bytes that are to come, and counts them. Packs go of the repository that was used longest ago, but for those that somebody
// reads or changes.
func (l *Local) reserve(repo ID, n int64) error {
	tried := map[ID]bool{repo: true}
	for {
		l.mu.Lock()
		if l.most == 0 || l.bytes+n <= l.most {
			if full := l.room(); full == nil {
				l.bytes += n
				l.mu.Unlock()
				return nil
			}
		}
		oldest, ok := l.oldest(tried)
		l.mu.Unlock()
		if !ok {
			return fmt.Errorf("%w: %d bytes of packs are to come, and all that is here is in use", ErrNoSpace, n)
		}
		tried[oldest] = true
		if err := l.evict(oldest); err != nil {
			return err
		}
	}
}

// oldest returns the repository that was used longest ago, but for some. The caller holds mu.
func (l *Local) oldest(but map[ID]bool) (repo ID, ok bool) {
	for id, h := range l.here {
		if !but[id] && (!ok || h.used.Before(l.here[repo].used)) {
			repo, ok = id, true
		}
	}
	return repo, ok
}

// Shrink brings what lies on this disk within its bound, where what came in has gone beyond.
func (l *Local) Shrink() error {
	if err := l.reserve(ID{}, 0); err != nil && !errors.Is(err, ErrNoSpace) {
		return err
	}
	return nil
}

// evict takes the packs of a repository off this disk, but for their indexes, unless somebody uses them. What is not in the depot stays.
func (l *Local) evict(repo ID) error {
	m, err := l.d.depot.Manifest(repo)
	if err == nil {
		err = l.takeOff(repo, m)
	}
	if err == nil {
		err = l.weigh(repo)
	}
	if err != nil {
		return fmt.Errorf("taking packs of repository %s off the disk: %w", repo, err)
	}
	return nil
}

func (l *Local) takeOff(repo ID, m refdb.Manifest) error {
	d := l.d
	r, unlock := d.inUse.lock(repo)
	defer unlock()
	if d.inUse.busy(r) {
		return nil
	}
	entries, err := d.dir.list(repo.path() + "/objects/pack")
	if err != nil {
		return err
	}
	var files []string
	for _, e := range entries {
		pack, suffix, _ := strings.Cut(e.Name(), ".")
		n, bad := refdb.ParsePackName(pack)
		p, known := m.Find(n)
		if strings.HasPrefix(e.Name(), midx) || bad == nil && known && suffix != "idx" && p.Has("."+suffix) {
			files = append(files, repo.path()+"/objects/pack/"+e.Name())
		}
	}
	return d.dir.removeFiles(files...)
}

// busy reports whether somebody reads a repository, brings data to it, or combines its packs. The caller holds the repository's lock.
func (l *inUse) busy(r *repository) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return r.quarantines > 0 || r.maintenance != nil || slices.ContainsFunc(r.readers, func(e *readerEpoch) bool { return e.n > 0 })
}
