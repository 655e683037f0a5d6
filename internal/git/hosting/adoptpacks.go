package hosting

import (
	"context"
	"errors"
	"sync"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// Adopt puts the packs that lie on a disk into a depot, and gives each repository a manifest that has none yet. progress hears of bytes.
func Adopt(ctx context.Context, s *store.Store, disk *gitrepo.Disk, d *depot.Depot, progress func(done, all int64)) (wrong []error, err error) {
	w := walk{store: s, atOnce: restoredAtOnce, weigh: func(r refdb.Repository) int64 { return r.Bytes }, progress: progress}
	return w.each(ctx, (&adopting{depot: d, disk: disk, store: s}).one)
}

// errNowhere says that the git data of a repository is gone.
var errNowhere = errors.New("its git data is neither on this disk nor in the object store")

// adopting puts packs of repositories that have no manifest. Those that are put at the same time share a commit.
type adopting struct {
	depot *depot.Depot
	disk  *gitrepo.Disk
	store *store.Store

	writing sync.Mutex // held by who commits
	mu      sync.Mutex // guards waiting
	waiting []*adopted
}

// adopted is a repository whose packs are put.
type adopted struct {
	of    refdb.Repository
	packs []refdb.Pack

	done bool // guarded by adopting.writing, as err
	err  error
}

// one puts the packs of a repository, which then has a manifest. It does nothing where there is one.
func (x *adopting) one(ctx context.Context, r refdb.Repository) error {
	v := x.store.View()
	row, err := v.Row(refdb.ManifestName(r.Dir))
	v.Close()
	if err != nil || row != nil {
		return err
	}
	packs, err := x.disk.Packed(gitrepo.ID(r.Dir))
	if err != nil {
		return err
	}
	if len(packs) == 0 {
		if r.Bytes > 0 {
			err = errNowhere
		}
		return err
	}
	put, done, err := x.depot.Put(ctx, packs)
	if err != nil {
		return err
	}
	defer done()
	return x.commit(&adopted{of: r, packs: put})
}

// commit commits the manifest of a repository, with those of all that wait for it meanwhile.
func (x *adopting) commit(a *adopted) error {
	x.mu.Lock()
	x.waiting = append(x.waiting, a)
	x.mu.Unlock()
	x.writing.Lock()
	defer x.writing.Unlock()
	if a.done {
		return a.err
	}
	x.mu.Lock()
	all := x.waiting
	x.waiting = nil
	x.mu.Unlock()
	err := store.Update(x.store, func(b *store.Batch) error {
		for _, a := range all {
			if err := refdb.Adopt(b, a.of, a.packs); err != nil {
				return err
			}
		}
		return nil
	})
	for _, a := range all {
		a.done, a.err = true, err
	}
	return err
}
