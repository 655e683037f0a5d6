package latelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// A commit that waits is a file: the chain before it, and the entry as the object of a log has it. Its name is the position.

// ErrLeft says that commits are on this disk alone, and that the log has gone on without them.
var ErrLeft = errors.New("commits lie on this disk alone, and the log has gone on without them")

// write writes a commit durably.
func write(dir string, w waiting) (err error) {
	to := filepath.Join(dir, name(w.At))
	f, err := os.CreateTemp(dir, "*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(w.Append(w.before[:]))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func remove(dir string, at commitlog.Position) error {
	if err := os.Remove(filepath.Join(dir, name(at))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func name(at commitlog.Position) string { return fmt.Sprintf("%020d", uint64(at)) }

// Put has a log take what an earlier life has left in dir, and says how many commits that were. It fails with ErrLeft, and leaves the files, where the
// log has something else, or has gone on.
func Put(ctx context.Context, dir string, under commitlog.Log) (int, error) {
	left, err := read(dir)
	if err != nil || len(left) == 0 {
		return 0, err
	}
	first, last := left[0], left[len(left)-1]
	if first.At > 1 { // where the one before is not there, this is another log, or one that has lost its beginning since
		before, err := under.Read(ctx, first.At-1)
		if errors.Is(err, commitlog.ErrNone) || errors.Is(err, commitlog.ErrGap) || err == nil && before.Chain != first.before {
			return 0, wasLeft(dir, left)
		}
		if err != nil {
			return 0, err
		}
	}
	for _, w := range left {
		if err := commitlog.Settle(ctx, under, w.Entry, w.before); errors.Is(err, commitlog.ErrOther) {
			return 0, wasLeft(dir, left)
		} else if err != nil {
			return 0, err
		}
	}
	switch _, err := under.Read(ctx, last.At+1); { // a log that is trimmed takes an entry where one was
	case err == nil, errors.Is(err, commitlog.ErrGap):
		return 0, wasLeft(dir, left)
	case !errors.Is(err, commitlog.ErrNone):
		return 0, err
	}
	for _, w := range left {
		if err := remove(dir, w.At); err != nil {
			return 0, err
		}
	}
	return len(left), nil
}

func wasLeft(dir string, left []waiting) error {
	return fmt.Errorf("%w: %s from %d on, in %s", ErrLeft, safetext.Number(len(left), "commit", "commits"), left[0].At, dir)
}

// read reads what was left, in order, and removes what was not finished.
func read(dir string) (left []waiting, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		if filepath.Ext(path) == ".tmp" {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			continue
		}
		at, err := strconv.ParseUint(f.Name(), 10, 64)
		if err != nil || name(commitlog.Position(at)) != f.Name() {
			return nil, fmt.Errorf("%s is no commit", path)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		w, err := parse(commitlog.Position(at), b)
		if n := len(left); err == nil && n > 0 && !w.Follows(left[n-1].At, left[n-1].Chain) {
			err = fmt.Errorf("%w: it does not come after the one before", commitlog.ErrDamaged)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		left = append(left, w)
	}
	return left, nil
}

func parse(at commitlog.Position, b []byte) (w waiting, err error) {
	n := copy(w.before[:], b)
	if n < len(w.before) {
		return w, fmt.Errorf("%w: it has %d bytes", commitlog.ErrDamaged, len(b))
	}
	w.Entry, err = commitlog.ParseEntry(at, b[n:])
	if err == nil && w.Chain != w.before.After(w.Body) {
		err = fmt.Errorf("%w: it has another chain", commitlog.ErrDamaged)
	}
	return w, err
}
