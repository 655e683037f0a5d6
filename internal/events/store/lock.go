package store

import (
	"errors"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store/kv"
)

// makeDirectory makes the store's directory, after a repair that was interrupted where it had only to be renamed.
func (s *Store) makeDirectory() error {
	if err := kv.FinishSwap(s.opt.FS, s.opt.Dir); err != nil || s.opt.ReadOnly {
		return err
	}
	return s.opt.FS.MkdirAll(s.opt.Dir, 0o700)
}

// Hold keeps every other process from opening the store in a directory, until the caller closes the returned Closer. Hold fails with
// ErrInUse where a process has the store open. Where there is no store Hold does nothing.
func Hold(dir string) (io.Closer, error) {
	if _, err := vfs.Default.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(nil), nil
	} else if err != nil {
		return nil, err
	}
	lock, err := kv.LockDirectory(vfs.Default, dir, false)
	if err != nil {
		return nil, err
	}
	return lock, nil
}
