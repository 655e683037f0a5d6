package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// root is the user whose files are given away.
const root = 0

// ownedAs gives what root has in a directory to the owner of another one, so that what the operator does as root leaves no file that the
// relay's user cannot use. It does nothing where this is not root, or nothing is there.
func ownedAs(data, dir string) error {
	if os.Geteuid() != root {
		return nil
	}
	uid, gid, err := ownerOf(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || uid == root {
		return err
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		has, _, err := ownerOf(path)
		if err != nil || has != root {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// giveBack is deferred by commands that open the data, before they do.
func (c *Config) giveBack(err *error) { *err = errors.Join(*err, ownedAs(c.Data, c.Data)) }

func ownerOf(path string) (uid, gid int, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, 0, err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, errors.ErrUnsupported
	}
	return int(s.Uid), int(s.Gid), nil
}
