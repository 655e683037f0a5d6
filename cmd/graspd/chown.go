package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// root is the id of the user whose files chownLike gives away.
const root = 0

// chownLike gives the files of root in dir to the owner of data, so that a command of root leaves no file that the relay's user cannot use. It
// does nothing where the process does not run as root, or where a directory does not exist.
func chownLike(data, dir string) error {
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

// restoreOwner gives what root has written into the data directory to the owner of the directory. A command that opens the data defers it
// before it opens the data.
func (c *Config) restoreOwner(err *error) { *err = errors.Join(*err, chownLike(c.Data, c.Data)) }

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
