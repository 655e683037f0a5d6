package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

const (
	trash    = "trash"
	inTrash  = 30 * 24 * time.Hour // for how long what was removed is kept
	tooFresh = 24 * time.Hour      // for how long a directory may be there of which nobody knows yet
)

// Remove moves a repository into the trash, also what a kill left of one. From then on readers no longer find it.
func (d *Disk) Remove(repo ID) error {
	r, unlock := d.inUse.lock(repo)
	defer unlock()
	if there, err := d.dir.isDir(repo.path()); err != nil || !there {
		return err
	}
	err := d.dir.root.MkdirAll(trash, 0o700)
	if err == nil {
		err = d.dir.root.Rename(repo.path(), fmt.Sprintf("%s/%s-%d", trash, repo, d.now().Unix()))
	}
	d.packs.drop(repo)
	d.clones.forget(repo)
	d.inUse.mu.Lock()
	r.removed++
	d.inUse.mu.Unlock()
	if err == nil {
		err = d.dir.sync(trash, repo.path()[:len("ab/cd")], ".")
	}
	if err != nil {
		return fmt.Errorf("removing repository %s: %w", repo, noted(err))
	}
	return nil
}

// Sweep removes what has been in the trash for 30 days, and moves directories into the trash for which known returns false.
func (d *Disk) Sweep(ctx context.Context, known func(ID) bool) error {
	if err := d.emptyTrash(ctx); err != nil {
		return fmt.Errorf("emptying the trash: %w", err)
	}
	return d.dir.eachRepository(ctx, func(repo ID) error {
		if known(repo) {
			return nil
		}
		info, err := d.dir.root.Stat(repo.path())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.now().Sub(info.ModTime()) < tooFresh {
			return err
		}
		return d.Remove(repo)
	})
}

func (d *Disk) emptyTrash(ctx context.Context) error {
	entries, err := d.dir.list(trash)
	for _, e := range entries {
		if at, ok := thrownAt(e.Name()); !ok || d.now().Sub(at) < inTrash {
			continue
		}
		if err := errors.Join(context.Cause(ctx), d.dir.root.RemoveAll(trash+"/"+e.Name())); err != nil {
			return err
		}
	}
	return err
}
