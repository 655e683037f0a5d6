package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"github.com/graspd/graspd/internal/base/fair"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Copy copies all repositories into the directory to while they are in use. Copy links files where the file system allows that, as nobody
// changes a file once it is there. The copy has at least what the log said when Copy began.
func (d *Disk) Copy(ctx context.Context, to string) error {
	c := &copying{d: d, to: to}
	err := os.MkdirAll(to, 0o700)
	if err == nil {
		if c.root, err = os.OpenRoot(to); err == nil {
			err = errors.Join(d.dir.eachRepository(ctx, func(repo ID) error { return c.repository(ctx, repo) }), c.root.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("copying repositories to %s: %w", to, noted(err))
	}
	return nil
}

type copying struct {
	d    *Disk
	to   string
	root *os.Root
}

// repository copies one. Of one that is removed meanwhile it leaves nothing in the copy.
func (c *copying) repository(ctx context.Context, repo ID) error {
	err := c.whole(ctx, repo)
	if errors.Is(err, fs.ErrNotExist) {
		if there, e := c.d.dir.exists(repo); e == nil && !there {
			return c.root.RemoveAll(repo.path())
		}
	}
	return err
}

// whole copies a repository: refs before packs, as objects are there before refs name them. It fails with fs.ErrNotExist where the repository
// is removed before the end.
func (c *copying) whole(ctx context.Context, repo ID) error {
	end, err := c.d.reading(ctx, repo, fair.Party{}) // nothing goes meanwhile
	if err != nil {
		return err
	}
	defer end()
	dir := repo.path()
	if err := c.root.MkdirAll(dir+"/objects/pack", 0o700); err != nil {
		return err
	}
	if err := c.root.MkdirAll(dir+"/refs", 0o700); err != nil {
		return err
	}
	files := []string{dir + "/HEAD", dir + "/packed-refs"}
	for _, file := range files {
		if err := c.file(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	packs, err := c.packs(repo)
	if err != nil {
		return err
	}
	for _, file := range packs {
		if err := c.file(file); err != nil {
			return err
		}
	}
	for _, sub := range []string{dir + "/objects/pack", dir + "/objects", dir, dir[:len("ab/cd")], dir[:len("ab")], "."} {
		f, err := c.root.Open(sub)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// packs returns the files of a repository's packs, in the order in which they are linked. The index over several packs is not among them:
// maintenance makes it again where it helps.
func (c *copying) packs(repo ID) ([]string, error) {
	_, unlock := c.d.inUse.lock(repo)
	defer unlock()
	if there, err := c.d.dir.exists(repo); err != nil || !there {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	names, err := c.d.packs.names(repo)
	if err != nil {
		return nil, err
	}
	files, err := c.d.packs.files(repo, names)
	slices.SortStableFunc(files, func(a, b string) int { return turn(a) - turn(b) })
	return files, err
}

// file links a file, or copies it.
func (c *copying) file(name string) error {
	c.d.dir.reads(name)
	if err := c.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Link(c.d.dir.abs(name), filepath.Join(c.to, filepath.FromSlash(name)))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	from, err := c.d.dir.root.Open(name)
	if err != nil {
		return err
	}
	to, err := c.root.Create(name)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	_, err = io.Copy(to, from)
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close(), from.Close())
}
