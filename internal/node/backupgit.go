package node

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/hosting"
)

// copyClosedGit copies the repositories of a data directory that no node has open, if it has any.
func copyClosedGit(data, to string) error {
	if _, err := os.Stat(GitIn(data)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	disk, err := gitrepo.Open(gitrepo.Config{Dir: GitIn(data), ReadOnly: true}) // nothing is run
	if err != nil {
		return err
	}
	return errors.Join(disk.Copy(context.Background(), GitIn(to)), disk.Close())
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
	return errors.Join(hosting.RefsAsOf(copied, n.Store, disk), disk.Close())
}
