package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/gitproc"
	"github.com/graspd/graspd/internal/gitwire"
)

const (
	maxPacks  = 8                   // more are combined
	maxClones = 2                   // so many packs made of more than one are reason enough to combine them
	kept      = 14 * 24 * time.Hour // for how long objects stay that nothing leads to
)

// maintenance is the work on one repository.
type maintenance struct {
	repo   ID
	dir    string   // where the packs are combined
	old    []string // packs that are there at its beginning
	begun  int      // quarantines before it
	again  bool     // one of the old packs was admitted anew
	fresh  []string // packs afterwards
	expire int64    // objects that nothing leads to, and that are older, go; seconds since 1970
}

// admitted notes that a pack came in. The repository is locked.
func (m *maintenance) admitted(pack string) { m.again = m.again || slices.Contains(m.old, pack) }

// Maintain combines the packs of a repository, if that is due: there are many, or fetches suffer. What neither refs nor keep lead
// to goes after two weeks. Readers lose nothing that they need.
func (d *Disk) Maintain(ctx context.Context, repo ID, refs *gitwire.Refs, keep []gitwire.ObjectID) (did bool, err error) {
	m, end, err := d.begins(repo)
	if m == nil || err != nil {
		return false, err
	}
	defer end()
	if did, err = d.combinePacks(ctx, m, refs, keep); err != nil {
		err = fmt.Errorf("combining packs of repository %s: %w", repo, err)
	}
	if m.dir != "" {
		err = errors.Join(err, d.dir.root.RemoveAll(m.dir))
	}
	if did && err == nil {
		d.demand.settle(repo)
	}
	return did && err == nil, err
}

// begins returns nothing if there is nothing to do.
func (d *Disk) begins(repo ID) (*maintenance, func(), error) {
	r, unlock := d.live.lock(repo)
	defer unlock()
	if r.maintenance != nil {
		return nil, nil, nil
	}
	if err := d.live.unlinkGone(repo, r); err != nil { // what a kill left
		return nil, nil, err
	}
	old, n, err := d.combinable(repo)
	if err != nil || n <= maxPacks && d.demand.of(repo) < maxClones {
		return nil, nil, err
	}
	if n < 2 {
		if due, err := d.lacksBitmap(repo, old); !due || err != nil {
			return nil, nil, err
		}
	}
	m := &maintenance{repo: repo, old: old, expire: d.now().Add(-kept).Unix()}
	d.live.hold(repo)
	d.live.mu.Lock()
	defer d.live.mu.Unlock()
	r.maintenance, m.begun = m, r.begun
	if r.quarantines > 0 {
		m.expire = 1 // what comes in may build on anything
	}
	return m, func() {
		r.change.Lock()
		r.maintenance = nil
		r.change.Unlock()
		d.live.release(repo, r)
	}, nil
}

// combinable are the packs of a repository, and how many of them have more than what nothing leads to.
func (d *Disk) combinable(repo ID) (packs []string, n int, err error) {
	if packs, err = d.packs.names(repo); err != nil {
		return nil, 0, err
	}
	for _, name := range packs {
		_, err := d.dir.root.Stat(repo.path() + "/objects/pack/" + name + ".mtimes")
		if errors.Is(err, fs.ErrNotExist) {
			n++
		} else if err != nil {
			return nil, 0, err
		}
	}
	return packs, n, nil
}

// lacksBitmap reports whether the packs of a repository that needs no other ones are worth a bitmap, and have none: without one every
// clone counts all objects.
func (d *Disk) lacksBitmap(repo ID, packs []string) (bool, error) {
	entries, err := d.dir.list(repo.path() + "/objects/pack")
	if err != nil {
		return false, err
	}
	large := false
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".bitmap") {
			return false, nil
		}
		name, isPack := strings.CutSuffix(e.Name(), ".pack")
		if !isPack || !slices.Contains(packs, name) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return false, err
		}
		large = large || info.Size() >= d.worth
	}
	return large, nil
}

func (d *Disk) combinePacks(ctx context.Context, m *maintenance, refs *gitwire.Refs, keep []gitwire.ObjectID) (bool, error) {
	promised, all := d.promises.of(m.repo)
	if !all {
		m.expire = 1
	}
	keep = append(slices.Clone(keep), promised...)
	lacks, err := d.packs.lacks(m.repo, keep)
	if err != nil {
		return false, err
	}
	size, err := d.stage(m, refs, without(keep, lacks))
	if err != nil {
		return false, err
	}
	c := gitproc.RepackAll(m.expire)
	if size >= d.large {
		c = gitproc.RepackGeometric()
	}
	err = d.run(ctx, c, gitproc.Run{
		Kind: gitproc.Maintenance, At: gitproc.Place{Repository: d.dir.abs(m.dir)}, MaxFile: 2*size + 64<<20,
	}, m.repo)
	if err != nil {
		return false, err
	}
	return d.swap(m)
}

// stage makes a repository of links to the packs, where they can be combined while this one is used.
func (d *Disk) stage(m *maintenance, refs *gitwire.Refs, keep []gitwire.ObjectID) (size int64, err error) {
	if m.dir, err = d.dir.fresh(); err != nil {
		return 0, err
	}
	packed, head, err := files(keeping(refs, keep))
	if err != nil {
		return 0, err
	}
	if err := errors.Join(d.dir.replace(m.dir+"/packed-refs", packed), d.dir.replace(m.dir+"/HEAD", head)); err != nil {
		return 0, err
	}
	links, err := d.packs.files(m.repo, m.old)
	if err != nil {
		return 0, err
	}
	for _, file := range links {
		if strings.HasSuffix(file, ".bitmap") {
			continue // made anew
		}
		info, err := d.dir.root.Stat(file)
		if err == nil {
			err = d.dir.link(file, m.dir+"/objects/pack/"+baseName(file))
		}
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}

func baseName(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }

// keeping are refs and some more objects. Those have names that are no branch's or tag's, so nothing that is cloned builds on them.
func keeping(refs *gitwire.Refs, keep []gitwire.ObjectID) *gitwire.Refs {
	all := &gitwire.Refs{Head: refs.Head, List: slices.Clone(refs.List)}
	for i, id := range keep {
		all.List = append(all.List, gitwire.Ref{Name: fmt.Sprintf("refs/zz-kept/%d", i), ID: id})
	}
	all.Sort()
	return all
}
