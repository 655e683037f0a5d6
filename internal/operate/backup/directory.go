package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/status"
)

// found has the backups of this relay in the directory.
type found struct {
	whole []entire
	parts []string // files that were never completed
	cut   []string // files with the name of a complete one that end too early
}

func (f found) bytes() (n int64) {
	for _, w := range f.whole {
		n += w.bytes
	}
	return n
}

// look reads the directory. A file that does not end as a backup does is no complete one, whatever its name.
func look(dir, relay string) (f found, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return f, err
	}
	for _, e := range entries {
		at, named, ok := parse(relay, e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		if !named {
			f.parts = append(f.parts, e.Name())
			continue
		}
		size, ended, err := complete(filepath.Join(dir, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // somebody else may remove old ones, too
		case err != nil:
			return f, err
		case ended:
			f.whole = append(f.whole, entire{e.Name(), at, size})
		default:
			f.cut = append(f.cut, e.Name())
		}
	}
	return f, nil
}

// remove removes files in the directory. It goes on after an error, and returns all errors.
func remove(dir string, names []string) (err error) {
	for _, name := range names {
		if bad := os.Remove(filepath.Join(dir, name)); !errors.Is(bad, fs.ErrNotExist) {
			err = errors.Join(err, bad)
		}
	}
	return err
}

// write makes one backup and returns its size. The file gets its name when it is complete and durable. A failure leaves no file.
func (b *Scheduler) write(ctx context.Context, name string) (size int64, err error) {
	path := filepath.Join(b.c.Dir, name)
	f, err := os.OpenFile(path+partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove(b.c.Dir, []string{name + partial}))
		}
	}()
	w := &paced{sleep: func(d time.Duration) error { return sleep.For(ctx, d) }, file: f, rate: b.c.Rate, room: func() error { return b.room(0) }}
	err = b.c.Make(ctx, func(size int64) (io.Writer, func(int64), error) {
		if err := b.room(size); err != nil {
			return nil, nil, err
		}
		return w, func(done int64) { b.moved(done, size) }, nil
	})
	if err = errors.Join(err, w.end()); err != nil {
		return 0, err
	}
	if err := os.Rename(path+partial, path); err != nil {
		return 0, err
	}
	dir, err := os.Open(b.c.Dir)
	if err != nil {
		return 0, err
	}
	return w.written, errors.Join(dir.Sync(), dir.Close())
}

// room fails with errRoom where there is no room for so many bytes more.
func (b *Scheduler) room(size int64) error {
	free, err := b.c.Free(b.c.Dir)
	if err != nil {
		return err
	}
	if need := uint64(size) + b.c.Floor; free < need {
		return fmt.Errorf("%w: it needs %v and %v (--disk-floor) stay free, and %v are free where backups go",
			errRoom, status.Bytes(size), status.Bytes(b.c.Floor), status.Bytes(free))
	}
	return nil
}

var errRoom = errors.New("no room for a backup")
