package gitrepo

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
)

// swapKept puts the combined packs in the place of those that they were made of where a commit decides that. The files are in the directory before it,
// where they count for nothing, and the old ones go after it.
func (m *maintenance) swapKept(ctx context.Context, entries []fs.DirEntry, lost []sum, lookup error) (bool, error) {
	if there, err := m.d.dir.exists(m.repo); err != nil || !there {
		return false, err // removed meanwhile
	}
	c, err := m.combined()
	if err = errors.Join(lookup, err); err != nil {
		return false, err
	}
	r := m.d.inUse.hold(m.repo)
	defer m.d.inUse.release(m.repo, r)
	if err := m.linkFresh(r, entries); err != nil {
		return false, err
	}
	c.May = func() bool { return len(lost) == 0 || !m.came(r) && !m.promised(lost) }
	r.swap.Lock() // no quarantine begins while nobody knows which packs there are
	did, err := m.swaps(ctx, c)
	r.swap.Unlock()
	if err != nil || !did {
		return false, err
	}
	return true, errors.Join(m.retire(r, entries), m.d.local.weigh(m.repo))
}

// retire has the old packs go, when nobody reads them any more.
func (m *maintenance) retire(r *repository, entries []fs.DirEntry) error {
	r.change.Lock()
	defer r.change.Unlock()
	if err := m.renewMidx(entries); err != nil {
		return err
	}
	past := slices.DeleteFunc(slices.Clone(m.old), func(name string) bool { return slices.Contains(m.fresh, name) })
	files, err := m.d.packs.files(m.repo, past)
	if err != nil {
		return err
	}
	old, err := m.oldMidx(entries)
	if err != nil {
		return err
	}
	m.d.inUse.retire(r, append(files, old...))
	if !m.more {
		m.d.clones.rest(m.repo)
	}
	return m.d.inUse.unlinkGone(m.repo, r)
}

// combined returns what takes the place of what.
func (m *maintenance) combined() (c Combined, err error) {
	for _, name := range m.old {
		n, err := refdb.ParsePackName(name)
		if err != nil {
			return c, err
		}
		c.Old = append(c.Old, n)
	}
	for _, name := range m.fresh {
		p, err := m.d.dir.packed(m.dir+"/objects/pack", name)
		if err != nil {
			return c, err
		}
		c.Fresh = append(c.Fresh, p)
	}
	return c, nil
}

// linkFresh links the files of the combined packs into the repository, but for an index over several, which leads readers to them. One of these may
// have more files than the old pack of its name.
func (m *maintenance) linkFresh(r *repository, entries []fs.DirEntry) error {
	r.change.Lock()
	defer r.change.Unlock()
	defer m.d.packs.drop(m.repo)
	entries = slices.DeleteFunc(slices.Clone(entries), func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), midx) })
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return turn(a.Name()) - turn(b.Name()) })
	from, to := m.dir+"/objects/pack/", m.repo.path()+"/objects/pack/"
	for _, e := range entries {
		if err := m.d.dir.link(from+e.Name(), to+e.Name()); err != nil {
			return err
		}
	}
	for _, name := range m.fresh {
		if err := m.d.inUse.rescue(m.repo, r, name); err != nil {
			return err
		}
	}
	return m.d.dir.sync(to)
}

// renewMidx puts the index over the combined packs in the place of an old one, which would name packs that go. The caller holds the repository's lock.
func (m *maintenance) renewMidx(entries []fs.DirEntry) error {
	from, to := m.dir+"/objects/pack/", m.repo.path()+"/objects/pack/"
	has := false
	for _, e := range entries {
		if name := e.Name(); name == midx {
			has = true
		} else if strings.HasPrefix(name, midx) {
			if err := m.d.dir.link(from+name, to+name); err != nil {
				return err
			}
		}
	}
	if has {
		return m.d.dir.renew(from+midx, to+midx)
	}
	return m.d.dir.removeFiles(to + midx)
}

// strayFor is how long a pack stays in a directory that no manifest has: it may be on its way in.
const strayFor = 24 * time.Hour

// clean removes files of packs that are in a directory and not in the manifest: what came in and was refused, or went, or what a kill left. The
// caller holds the repository's lock, and nobody combines its packs.
func (p *packs) clean(repo ID, now time.Time) error {
	if p.depot == nil {
		return nil
	}
	m, err := p.depot.Manifest(repo)
	if err != nil {
		return err
	}
	entries, err := p.dir.list(repo.path() + "/objects/pack")
	if err != nil {
		return err
	}
	var files []string
	for _, e := range entries {
		pack, _, _ := strings.Cut(e.Name(), ".")
		n, bad := refdb.ParsePackName(pack)
		if _, known := m.Find(n); bad != nil || known {
			continue
		}
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > strayFor {
			files = append(files, repo.path()+"/objects/pack/"+e.Name())
		}
	}
	if len(files) == 0 {
		return nil
	}
	p.drop(repo)
	return p.dir.removeFiles(files...)
}
