package kv

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TrimLogs cuts the logs of a copy that was made while the engine wrote them. Of writes after the beginning of the copy, the copy may have a
// later one and lack an earlier one.
func TrimLogs(fsys vfs.FS, dir string) error {
	return damagedLogs(fsys, dir, true, func(path string, w *walFile, at int) error {
		return errors.Join(writeFile(fsys, path, w.b[:at]), SyncParent(fsys, path))
	})
}

// CheckLogs fails with ErrDamaged where a place in the engine's logs was durable and cannot be read. synced says that each commit was durable
// before the next but one was written.
func CheckLogs(fsys vfs.FS, dir string, synced bool) error {
	return damagedLogs(fsys, dir, synced, func(path string, _ *walFile, at int) error {
		return fmt.Errorf("%w: %s: it cannot be read at byte %d", ErrDamaged, path, at)
	})
}

// damagedLogs calls do for each of the engine's logs with a place that was durable and cannot be read. at is the first such place in the log.
func damagedLogs(fsys vfs.FS, dir string, synced bool, do func(path string, w *walFile, at int) error) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !IsWAL(n) })
	newest := slices.MaxFunc(append(names, ".log"), byNumber)
	for _, name := range names {
		path := fsys.PathJoin(dir, name)
		w, err := openWAL(fsys, path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		w.newest, w.unsynced = name == newest, !synced
		damaged, err := w.each(func([]byte) error { return nil })
		if err == nil && len(damaged) > 0 {
			err = do(path, w, damaged[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SyncLogs makes durable what stands in the engine's logs. Opening a store puts that into tables, which must not be newer than the logs after a
// power cut.
func SyncLogs(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !IsWAL(name) {
			continue
		}
		f, err := fsys.OpenReadWrite(fsys.PathJoin(dir, name), vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// byNumber compares the names of logs, which are numbers of six digits or more.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }
