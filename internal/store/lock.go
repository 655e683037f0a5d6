package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// makeDirectory makes the store's directory, after a repair that was interrupted where it had only to be renamed.
func (s *Store) makeDirectory() error {
	if err := finishSwap(s.opt.FS, s.opt.Dir); err != nil || s.opt.ReadOnly {
		return err
	}
	return s.opt.FS.MkdirAll(s.opt.Dir, 0o700)
}

// lockDirectory takes the lock that the engine would take, to tell a second process from other trouble. On a disk that
// nobody can write to there is nothing to keep others from.
func (s *Store) lockDirectory() (*pebble.Lock, error) {
	if s.opt.ReadOnly { // the lock is a file, which would be made
		if _, err := s.opt.FS.Stat(s.opt.Dir); err != nil {
			return nil, err
		}
	}
	lock, err := pebble.LockDirectory(s.opt.Dir, s.opt.FS)
	switch {
	case err == nil:
		return lock, nil
	case s.opt.ReadOnly && errors.Is(err, syscall.EROFS):
		return pebble.LockDirectory(s.opt.Dir, unlocked{s.opt.FS})
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOSPC):
		return nil, err
	}
	return nil, fmt.Errorf("%w (%w)", ErrInUse, err)
}

// Hold keeps every process from opening the store in a directory until it is closed, and fails with ErrInUse where one has it open. Where
// no store is there it holds nobody off.
func Hold(dir string) (io.Closer, error) {
	s := newStore(Options{Dir: dir})
	if _, err := s.opt.FS.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(nil), nil
	} else if err != nil {
		return nil, err
	}
	lock, err := s.lockDirectory()
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// unlocked is a file system whose locks hold nobody off.
type unlocked struct{ vfs.FS }

func (unlocked) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }
