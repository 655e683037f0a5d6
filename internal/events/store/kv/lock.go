package kv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrInUse says that another process has the store open.
var ErrInUse = errors.New("data directory is in use by another process: stop that first")

// LockDirectory takes the lock that the engine would take. It fails with ErrInUse where another process has the lock, and with other errors for
// other trouble. With readOnly the directory must exist, and a disk that nobody can write to needs no lock.
func LockDirectory(fsys vfs.FS, dir string, readOnly bool) (*pebble.Lock, error) {
	if readOnly { // the lock is a file, which must not be made in a directory that is not there
		if _, err := fsys.Stat(dir); err != nil {
			return nil, err
		}
	}
	lock, err := pebble.LockDirectory(dir, fsys)
	switch {
	case err == nil:
		return lock, nil
	case readOnly && errors.Is(err, syscall.EROFS):
		return pebble.LockDirectory(dir, Unlocked{fsys})
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOSPC):
		return nil, err
	}
	return nil, fmt.Errorf("%w (%w)", ErrInUse, err)
}

// Unlocked is a file system whose locks keep nobody out.
type Unlocked struct{ vfs.FS }

// Lock implements vfs.FS.
func (Unlocked) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }
