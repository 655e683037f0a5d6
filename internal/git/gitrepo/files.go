package gitrepo

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// noHead is the file HEAD of a repository whose HEAD is unknown: git wants the file, and wants it to name a branch.
const noHead = "ref: refs/heads/this-repository-has-no-HEAD\n"

// skeleton makes the files and directories by which git knows a repository, as far as they are missing.
func (d *directory) skeleton(dir string) error {
	for _, sub := range []string{dir + "/refs", dir + "/objects/pack"} {
		d.changes()
		if err := d.root.MkdirAll(sub, 0o700); err != nil {
			return noted(err)
		}
	}
	if _, err := d.root.Stat(dir + "/HEAD"); !errors.Is(err, fs.ErrNotExist) {
		return noted(err)
	}
	return d.replace(dir+"/HEAD", []byte(noHead))
}

// begin makes the directory of a repository that has none, durably.
func (d *directory) begin(repo ID) error {
	there, err := d.exists(repo)
	if err != nil || there {
		return err
	}
	dir := repo.path()
	if err := d.skeleton(dir); err != nil {
		return err
	}
	return d.sync(dir, dir+"/objects", dir[:len("ab/cd")], dir[:len("ab")], ".")
}

// replace writes a file whole: readers and kills see the old one or this one. Its directory is not made durable.
func (d *directory) replace(name string, content []byte) error {
	d.changes()
	f, err := d.root.Create(name + ".new")
	if err != nil {
		return noted(err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		d.changes()
		err = d.root.Rename(name+".new", name)
	}
	return noted(err)
}

// sync makes files, or the entries of directories, durable.
func (d *directory) sync(names ...string) error {
	for _, name := range names {
		d.syncs(name)
		f, err := d.root.Open(name)
		if err != nil {
			return noted(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return noted(fmt.Errorf("%s: %w", name, err))
		}
	}
	return nil
}

// link gives a file a second name. It is no error if the file has that name.
func (d *directory) link(from, to string) error {
	d.changes()
	if err := d.root.Link(from, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return noted(err)
	}
	return nil
}

// removeFiles removes files. It is no error if one is not there.
func (d *directory) removeFiles(names ...string) error {
	var errs []error
	for _, name := range names {
		d.changes()
		if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// list returns the entries of a directory; none if it is not there.
func (d *directory) list(dir string) ([]fs.DirEntry, error) {
	d.reads(dir)
	f, err := d.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	return entries, errors.Join(err, f.Close())
}

// renew links a file in the place of another one.
func (d *directory) renew(from, to string) error {
	if err := d.removeFiles(to + ".new"); err != nil {
		return err
	}
	if err := d.link(from, to+".new"); err != nil {
		return err
	}
	d.changes()
	return noted(d.root.Rename(to+".new", to))
}

// isDir reports whether a directory is there.
func (d *directory) isDir(name string) (bool, error) {
	info, err := d.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.IsDir(), err
}

// length returns how many bytes a regular file has; -1 where there is none.
func (d *directory) length(name string) (int64, error) {
	info, err := d.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// isFile reports whether a regular file is there.
func (d *directory) isFile(name string) (bool, error) {
	info, err := d.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), err
}

// noted marks the errors of a full disk with ErrNoSpace.
func noted(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// packNames returns the names of the complete packs in a directory.
func packNames(entries []fs.DirEntry) []string {
	packs := map[string]bool{}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".pack"); ok {
			packs[name] = true
		}
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".idx"); ok && packs[name] {
			names = append(names, name)
		}
	}
	return names
}
