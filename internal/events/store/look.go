package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/kv"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// damaged marks an error of the engine that is about what stands on the disk, not about reaching it, and names the file
// where the engine knows it: its own words give a number and no more.
func damaged(err error) error {
	var errno syscall.Errno
	info := pebble.ExtractDataCorruptionInfo(err)
	switch {
	case err == nil, errors.Is(err, kv.ErrDamaged), errors.Is(err, layout.ErrFormat), errors.Is(err, ErrFull), errors.Is(err, ErrFailed), errors.Is(err, fs.ErrPermission),
		errors.Is(err, ErrHistory), errors.Is(err, ErrLogged):
		return err
	case errors.As(err, &errno) && errno != syscall.ENOENT:
		return err
	case info != nil:
		return fmt.Errorf("%w: %s: %w", kv.ErrDamaged, info.Path, info.Details)
	}
	return fmt.Errorf("%w: %w", kv.ErrDamaged, err)
}

// look opens an existing store without writing to it, before anything is removed from it or brought into a newer form.
// The engine takes a torn end of its list of tables for a write that the power cut off, and removes the tables that
// are not on it. After a crash there are such tables, but none that is missed: so when there are some, what the
// counters say must be there. And it takes what it cannot read of its newest log for such a write, too.
func (s *Store) look(e *engine, lock *pebble.Lock) (err error) {
	if err := kv.CheckLogs(s.opt.FS, s.opt.Dir, s.opt.Log == nil); err != nil {
		return err
	}
	db, err := s.openEngine(e, lock, true)
	if err != nil {
		return err
	}
	defer index.CloseAfter(db.Close, &err)
	c, err := readMeta(db)
	if err != nil {
		return damaged(err)
	}
	more, err := kv.Unlisted(s.opt.FS, s.opt.Dir, db)
	if err != nil || len(more) == 0 {
		return err
	}
	n, sum, err := countIDs(db)
	if err != nil {
		return damaged(err)
	}
	if n != c.Events || sum != c.Seqs {
		return fmt.Errorf("%w: %s: it does not list %s, and without that the events are not those that were counted", kv.ErrDamaged,
			kv.Manifest(s.opt.FS, s.opt.Dir), strings.Join(more, ", "))
	}
	for _, name := range more {
		if head, ok := s.headOf(name); ok && head > c.Head {
			return fmt.Errorf("%w: %s: it does not list %s, which is newer than all that it lists", kv.ErrDamaged, kv.Manifest(s.opt.FS, s.opt.Dir), name)
		}
	}
	return nil
}

// countIDs counts the stored events, and adds up their numbers.
func countIDs(r pebble.Reader) (n int64, seqs layout.Seq, err error) {
	err = index.EachKey(r, layout.TableID, func(_, value []byte) error {
		_, at, err := layout.ParseIDRow(value)
		n, seqs = n+1, seqs+at.Seq
		return err
	})
	return n, seqs, err
}

// headOf is the newest head that a table tells of, if it does.
func (s *Store) headOf(name string) (head layout.Seq, ok bool) {
	_, err := kv.ReadTable(s.opt.FS, s.opt.FS.PathJoin(s.opt.Dir, name), func(v kv.Version) error {
		if !v.Gone && bytes.Equal(v.Key, layout.MetaKey(layout.MetaCounters)) {
			if c, err := layout.ReadCounters(v.Value); err == nil {
				head, ok = max(head, c.Head), true
			}
		}
		return nil
	})
	return head, ok && err == nil
}
