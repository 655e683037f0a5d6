package store

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/kv"
)

// engine is the key-value store as it was opened once, with the guard of its disk. After a failure that passes the store goes on with another one,
// and the old one stays, in memory, for as long as somebody reads it.
type engine struct {
	db   *pebble.DB
	disk *kv.Guard

	// Guarded by Store.mu.
	refs   int     // states, who uses it just now, the store itself while it is the current one, and the one before it
	failed error   // the first failure of the disk, or the first that does not pass
	next   *engine // the one that went on in its place, and that keeps the tables for its readers

	lost []byte // the commit that failed, which may be in the log all the same; owned by the writer
}

// newEngine returns an engine that is not open yet.
func (s *Store) newEngine() *engine {
	e := &engine{refs: 1}
	e.disk = kv.NewGuard(s.opt.FS, s.opt.Dir, func(err error) { s.fail(e, err) })
	return e
}

// openEngine opens the key-value store.
func (s *Store) openEngine(e *engine, lock *pebble.Lock, readOnly bool) (*pebble.DB, error) {
	p := s.opt.tune(e.disk, lock, func(err error) { s.fail(e, err) }).Options()
	p.ReadOnly = readOnly
	db, err := pebble.Open(s.opt.Dir, p)
	if err != nil {
		if err = damaged(err); errors.Is(err, kv.ErrDamaged) {
			err = fmt.Errorf("%w (by %s)", err, kv.Manifest(s.opt.FS, s.opt.Dir))
		}
		return nil, errors.Join(err, s.failureOf(e))
	}
	return db, nil
}

// use returns the current engine, which stays open until drop. use fails with ErrClosed.
func (s *Store) use() (*engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.engine.refs++
	return s.engine, nil
}

// drop gives an engine back. The last one to do so closes it, and then the files go that only its readers needed.
func (s *Store) drop(e *engine) error {
	s.mu.Lock()
	e.refs--
	last, next := e.refs == 0, e.next
	s.mu.Unlock()
	if !last || e.db == nil {
		return nil
	}
	err := e.db.Close()
	if next != nil {
		next.disk.Release()
		err = errors.Join(err, s.drop(next))
	}
	return err
}

// failureOf returns the failure that stopped an engine, or nil.
func (s *Store) failureOf(e *engine) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return e.failed
}

// fail stops all later commits of an engine. It keeps the first failure, until one comes that does not pass, and logs it unless Open or Reopen
// will return it. It sets the failure before it holds the disk: so no commit sees a held disk without its failure.
func (s *Store) fail(e *engine, err error) error {
	s.mu.Lock()
	first := e.failed == nil || errors.Is(e.failed, ErrPaused) && final(err)
	if first {
		e.failed = failure(err, s.opt.Log == nil)
	}
	failed, tell := e.failed, first && e == s.engine && s.cur != nil
	s.mu.Unlock()
	e.disk.Trip()
	switch {
	case tell && errors.Is(failed, ErrPaused):
		s.opt.Logger.Error("storage failed for now, nothing is written until it is opened anew", "error", err)
	case tell:
		s.opt.Logger.Error("storage failed, nothing is written until the next start", "error", err)
	}
	return failed
}

// failure says whether a failure of the disk passes. With a log none does: what the engine has not synced is in the log, where Open finds it.
func failure(err error, mayPass bool) error {
	if mayPass && kv.Passes(err) && !final(err) {
		return fmt.Errorf("%w: %w", ErrPaused, err)
	}
	return fmt.Errorf("%w: %w", ErrFailed, err)
}

// final reports whether an error says that the disk is broken, whatever else it says.
func final(err error) bool { return errors.Is(err, kv.ErrDamaged) || errors.Is(err, syscall.EIO) }
