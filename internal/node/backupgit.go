package node

import (
	"context"
	"errors"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/hosting"
)

// copyClosedGit copies the repositories of a data directory that no node has open, if it has any. The copy belongs to no bucket: it fails with ErrCold
// where the directory has not all that is in one.
func copyClosedGit(data, to string, o store.Options) error {
	disk, err := gitDataIn(data)
	if err == nil && disk != nil {
		err = errors.Join(disk.Copy(context.Background(), GitIn(to)), disk.Close())
	}
	o.Dir = StoreIn(to)
	if at, bad := store.PlaceIn(o); err != nil || bad != nil || at.Position == 0 { // a store that cannot be opened is copied as it is
		return err
	}
	if err := inDirectory(to, o); err != nil {
		return err
	}
	return standAlone(context.Background(), to, o)
}

// copyGit copies the repositories while they are used. It comes after the copy of the store, so that the repositories have at least what
// that copy says. Then it writes the files of refs that have moved since as the copy of the store has them.
func (n *Node) copyGit(ctx context.Context, to string) (err error) {
	if n.disk == nil {
		return nil
	}
	if err := n.disk.Copy(ctx, GitIn(to)); err != nil {
		return err
	}
	o := store.Options{FS: n.cfg.Store.FS, Now: n.cfg.Now, ReadOnly: true}
	copied, err := OpenStore(to, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	disk, err := gitrepo.Open(gitrepo.Config{Dir: GitIn(to), Now: n.cfg.Now})
	if err != nil {
		return err
	}
	err = hosting.RefsAsOf(copied, n.Store, disk)
	if err == nil && n.kept != nil {
		err = n.kept.Copied(copied, n.Store, disk)
	}
	return errors.Join(err, disk.Close())
}
