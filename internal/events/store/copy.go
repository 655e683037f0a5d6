package store

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/graspd/graspd/internal/events/store/kv"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// Copy copies the store into dir, which must not be there, while others write and read the store. The copy has everything that was durable
// when Copy was called. Tables never change, so Copy shares them with the store by hard links where the disks allow that. After an error
// nothing of the copy is left. Nobody may call Close meanwhile.
func (s *Store) Copy(dir string) (err error) {
	e, err := s.use()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.drop(e)) }()
	if err := s.failureOf(e); err != nil {
		return err
	}
	head := s.Head()
	// Until the engine has written a table, it does not know how long its list of tables is, and copies none of it. With a log of commits, what
	// is not in a table may not have been written at all.
	if err := e.db.Flush(); err != nil {
		return fmt.Errorf("copy store: %w", err)
	}
	for try := 1; ; try++ {
		err := s.copyOnce(e, dir, head)
		if err == nil {
			return nil
		}
		if try == copyTries || !errors.Is(err, kv.ErrDamaged) || s.failureOf(e) != nil {
			return fmt.Errorf("copy store: %w", err)
		}
	}
}

// copyTries is how often a copy is begun anew that cannot be read back: one cannot tell a log that was copied in the middle of a write from a
// damaged one.
const copyTries = 3

// copyOnce makes a copy that can be opened and has every entry up to head, or leaves nothing.
func (s *Store) copyOnce(e *engine, dir string, head layout.Seq) error {
	if err := e.db.Checkpoint(dir); err != nil {
		return err
	}
	o := s.opt
	o.Dir, o.FS, o.ReadOnly = dir, kv.Unlocked{FS: o.FS}, true
	c := newStore(o)
	if err := errors.Join(s.failureOf(e), kv.TrimLogs(s.opt.FS, dir), c.opens(head), kv.SyncParent(s.opt.FS, dir)); err != nil {
		return errors.Join(err, s.opt.FS.RemoveAll(dir))
	}
	return nil
}

// opens checks that the copy can be opened and has every entry up to head.
func (s *Store) opens(head layout.Seq) error {
	if err := s.open(); err != nil {
		return err
	}
	var err error
	if s.Head() < head {
		err = fmt.Errorf("%w: it ends at %d of %d", kv.ErrDamaged, s.Head(), head)
	}
	return errors.Join(err, s.Close())
}

// CopyClosed copies the store in o.Dir, which nobody has open (else ErrInUse), into dir, which must not be there. CopyClosed looks at
// nothing, so it copies a damaged store as it is. Before anybody may open the store again CopyClosed calls beside, unless that is nil, to
// copy what belongs to the store and is elsewhere.
func CopyClosed(o Options, dir string, beside func() error) (err error) {
	o.ReadOnly = true
	s := newStore(o)
	defer func() {
		if err != nil {
			err = fmt.Errorf("copy store %s: %w", o.Dir, err)
		}
	}()
	if err := s.makeDirectory(); err != nil {
		return err
	}
	lock, err := kv.LockDirectory(s.opt.FS, s.opt.Dir, s.opt.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	used, err := kv.HasFiles(s.opt.FS, s.opt.Dir)
	if err != nil {
		return err
	}
	if !used {
		return ErrNone
	}
	if there, err := kv.Exists(s.opt.FS, dir); err != nil || there {
		return errors.Join(err, fmt.Errorf("%s: %w", dir, fs.ErrExist))
	}
	if err := kv.CopyFiles(s.opt.FS, s.opt.Dir, dir); err != nil {
		return errors.Join(err, s.opt.FS.RemoveAll(dir))
	}
	if err := kv.SyncParent(s.opt.FS, dir); err != nil || beside == nil {
		return err
	}
	return beside()
}
