package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// midx is git's index over several packs.
const midx = "multi-pack-index"

// swap puts the combined packs in the place of those that they were made of.
func (m *maintenance) swap(ctx context.Context) (bool, error) {
	names, entries, err := m.staged()
	if err != nil {
		return false, err
	}
	m.fresh = names
	lost, lookup := m.lost()
	for _, e := range entries { // the disk may take long, and pushes, which the log's writer sees to, wait for the lock
		if err := m.d.dir.sync(m.dir + "/objects/pack/" + e.Name()); err != nil {
			return false, err
		}
	}
	if m.d.depot != nil {
		return m.swapKept(ctx, entries, lost, lookup)
	}
	r, unlock := m.d.inUse.lock(m.repo)
	defer unlock()
	if there, err := m.d.dir.exists(m.repo); err != nil || !there {
		return false, err // removed meanwhile
	}
	if lookup != nil {
		return false, lookup
	}
	if err := m.linkAll(entries); err != nil {
		return false, err
	}
	past := slices.DeleteFunc(slices.Clone(m.old), func(name string) bool { return slices.Contains(names, name) })
	for _, name := range names {
		if err := m.d.inUse.rescue(m.repo, r, name); err != nil {
			return false, err
		}
	}
	files, err := m.d.packs.files(m.repo, past)
	if err != nil {
		return false, err
	}
	midx, err := m.oldMidx(entries)
	if err != nil {
		return false, err
	}
	if did, err := m.giveUp(r, past, lost); err != nil || !did {
		return false, err
	}
	m.d.inUse.retire(r, append(files, midx...))
	if !m.more {
		m.d.clones.rest(m.repo)
	}
	return true, m.d.inUse.unlinkGone(m.repo, r)
}

// staged returns the combined packs, with all their files.
func (m *maintenance) staged() (names []string, entries []fs.DirEntry, err error) {
	if entries, err = m.d.dir.list(m.dir + "/objects/pack"); err != nil {
		return nil, nil, err
	}
	return packNames(entries), entries, nil
}

// lost returns the objects that the old packs have and the combined ones lack.
func (m *maintenance) lost() (lost []sum, err error) {
	fresh, err := m.d.dir.openIndexes(m.dir+"/objects/pack", m.fresh)
	if err != nil {
		return nil, err
	}
	now := &packSet{packs: fresh}
	defer func() { err = errors.Join(err, now.close()) }()
	old, err := m.d.dir.openIndexes(m.repo.path()+"/objects/pack", m.old)
	if err != nil {
		return nil, err
	}
	before := &packSet{packs: old}
	defer func() { err = errors.Join(err, before.close()) }()
	for _, x := range before.packs {
		all, err := x.all()
		if err != nil {
			return nil, err
		}
		rest, err := now.rest(all)
		if err != nil {
			return nil, err
		}
		lost = append(lost, rest...)
	}
	slices.SortFunc(lost, sum.compare)
	return lost, nil
}

// giveUp notes that packs go, unless somebody may count on objects that go with them. A kill leaves it noted only where nobody does: whoever
// was told before of these objects has noted them, and nobody is told of them until they have gone.
func (m *maintenance) giveUp(r *repository, past []string, lost []sum) (bool, error) {
	if len(lost) > 0 {
		m.d.confirmed.swap.Lock()
		defer m.d.confirmed.swap.Unlock()
		if m.came(r) || m.promised(lost) {
			return false, nil
		}
	}
	before, err := m.d.packs.gone(m.repo)
	if err != nil {
		return false, err
	}
	if err := m.d.packs.setGone(m.repo, append(slices.Clone(before), past...)); err != nil {
		return false, err
	}
	if len(lost) > 0 && m.came(r) { // just before, and may not have seen that they go; a kill ends it
		return false, m.d.packs.setGone(m.repo, before)
	}
	return true, nil
}

// came reports whether a quarantine has begun since the maintenance did, or one of the old packs was admitted anew.
func (m *maintenance) came(r *repository) bool {
	m.d.inUse.mu.Lock()
	defer m.d.inUse.mu.Unlock()
	return r.begun != m.begun || m.again
}

// promised reports whether somebody was told of late that one of these objects is here.
func (m *maintenance) promised(lost []sum) bool {
	ids, all := m.d.confirmed.of(m.repo)
	return !all || slices.ContainsFunc(ids, func(id gitwire.ObjectID) bool {
		s, _ := sumOf(id)
		_, lacks := slices.BinarySearchFunc(lost, s, sum.compare)
		return lacks
	})
}

// linkAll links the files of the combined packs, which are durable: a file comes after those that it leads readers to.
func (m *maintenance) linkAll(entries []fs.DirEntry) error {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(turn(a.Name()), turn(b.Name())) })
	from, to := m.dir+"/objects/pack/", m.repo.path()+"/objects/pack/"
	hasMidx := false
	for _, e := range entries {
		name := e.Name()
		if name == midx {
			hasMidx = true
			if err := m.d.dir.renew(from+name, to+name); err != nil {
				return err
			}
		} else if err := m.d.dir.link(from+name, to+name); err != nil {
			return err
		}
	}
	if !hasMidx { // an old one would name packs that go
		if err := m.d.dir.removeFiles(to + midx); err != nil {
			return err
		}
	}
	return m.d.dir.sync(to)
}

// turn tells when a file is linked: lower numbers first.
func turn(name string) int {
	switch {
	case name == midx:
		return 3
	case strings.HasSuffix(name, ".idx"):
		return 2
	}
	return 1
}

// oldMidx returns the bitmaps of earlier indexes over several packs.
func (m *maintenance) oldMidx(fresh []fs.DirEntry) (files []string, err error) {
	dir := m.repo.path() + "/objects/pack"
	entries, err := m.d.dir.list(dir)
	for _, e := range entries {
		now := slices.ContainsFunc(fresh, func(f fs.DirEntry) bool { return f.Name() == e.Name() })
		if strings.HasPrefix(e.Name(), midx+"-") && !now {
			files = append(files, dir+"/"+e.Name())
		}
	}
	return files, err
}
