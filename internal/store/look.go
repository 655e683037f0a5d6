package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/layout"
)

// damaged marks an error of the engine that is about what stands on the disk, not about reaching it, and names the file
// where the engine knows it: its own words give a number and no more.
func damaged(err error) error {
	var errno syscall.Errno
	info := pebble.ExtractDataCorruptionInfo(err)
	switch {
	case err == nil, errors.Is(err, ErrDamaged), errors.Is(err, layout.ErrFormat), errors.Is(err, ErrFull), errors.Is(err, ErrFailed), errors.Is(err, fs.ErrPermission):
		return err
	case errors.As(err, &errno) && errno != syscall.ENOENT:
		return err
	case info != nil:
		return fmt.Errorf("%w: %s: %w", ErrDamaged, info.Path, info.Details)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// used reports whether there are files of a store in the directory. Where the engine does not find what leads to them,
// it would begin a new one and remove them.
func (s *Store) used() (bool, error) {
	names, err := s.opt.FS.List(s.opt.Dir)
	return slices.ContainsFunc(names, func(n string) bool { return isTable(n) || isWAL(n) }), err
}

func isTable(name string) bool { return strings.HasSuffix(name, ".sst") }
func isWAL(name string) bool   { return strings.HasSuffix(name, ".log") }

// look opens an existing store without writing to it, before anything is removed from it or brought into a newer form.
// The engine takes a torn end of its list of tables for a write that the power cut off, and removes the tables that
// are not on it. After a crash there are such tables, but none that is missed: so when there are some, what the
// counters say must be there. And it takes what it cannot read of its newest log for such a write, too.
func (s *Store) look(lock *pebble.Lock) (err error) {
	if err := s.lookAtLogs(); err != nil {
		return err
	}
	db, err := s.engine(lock, true)
	if err != nil {
		return err
	}
	defer closeAfter(db.Close, &err)
	c, err := readMeta(db)
	if err != nil {
		return damaged(err)
	}
	unlisted, err := s.unlisted(db)
	if err != nil || len(unlisted) == 0 {
		return err
	}
	n, sum, err := countIDs(db)
	if err != nil {
		return damaged(err)
	}
	if n != c.Events || sum != c.Seqs {
		return fmt.Errorf("%w: %s: it does not list %s, and without that the events are not those that were counted", ErrDamaged,
			s.manifest(), strings.Join(unlisted, ", "))
	}
	for _, name := range unlisted {
		if head, ok := s.headOf(name); ok && head > c.Head {
			return fmt.Errorf("%w: %s: it does not list %s, which is newer than all that it lists", ErrDamaged, s.manifest(), name)
		}
	}
	return nil
}

// lookAtLogs looks for places in the engine's logs that were durable and cannot be read.
func (s *Store) lookAtLogs() error {
	return s.damagedLogs(func(path string, _ *walFile, at int) error {
		return fmt.Errorf("%w: %s: it cannot be read at byte %d", ErrDamaged, path, at)
	})
}

// damagedLogs calls do for each of the engine's logs with a place that was durable and cannot be read, the first in it.
func (s *Store) damagedLogs(do func(path string, w *walFile, at int) error) error {
	names, err := s.opt.FS.List(s.opt.Dir)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !isWAL(n) })
	newest := slices.MaxFunc(append(names, ".log"), byNumber)
	for _, name := range names {
		path := s.opt.FS.PathJoin(s.opt.Dir, name)
		w, err := openWAL(s.opt.FS, path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		w.newest = name == newest
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

// byNumber compares the names of logs, which are numbers of six digits or more.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }

// countIDs counts the stored events, and adds up their numbers.
func countIDs(r pebble.Reader) (n int64, seqs layout.Seq, err error) {
	err = eachKey(r, layout.TableID, func(_, value []byte) error {
		_, at, err := layout.ParseIDRow(value)
		n, seqs = n+1, seqs+at.Seq
		return err
	})
	return n, seqs, err
}

// unlisted are the tables in the directory that the engine does not know.
func (s *Store) unlisted(db *pebble.DB) ([]string, error) {
	names, err := s.opt.FS.List(s.opt.Dir)
	if err != nil {
		return nil, err
	}
	levels, err := db.SSTables()
	if err != nil {
		return nil, err
	}
	listed := make(map[string]bool)
	for _, level := range levels {
		for _, t := range level {
			listed[fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum))] = true
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return !isTable(n) || listed[n] }), nil
}

// manifest is the path of the engine's list of tables.
func (s *Store) manifest() string {
	if d, err := pebble.Peek(s.opt.Dir, s.opt.FS); err == nil && d.Exists {
		return d.ManifestFilename
	}
	return s.opt.FS.PathJoin(s.opt.Dir, "MANIFEST")
}

// eachKey calls do with every key of a table.
func eachKey(r pebble.Reader, table byte, do func(key, value []byte) error) (err error) {
	it, err := tableIter(r, table)
	if err != nil {
		return err
	}
	defer closeAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		if err := do(it.Key(), it.Value()); err != nil {
			return err
		}
	}
	return it.Error()
}
