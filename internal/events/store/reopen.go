package store

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/kv"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// Reopen opens the store anew after a failure that passes (ErrPaused); where nothing has failed it does nothing. Then the store has exactly what
// was acknowledged, Views go on with what they had, and Begin works again. Reopen fails with ErrFull while there is no room, and with ErrPaused or
// another error where it is worth another try later; then all is as it was. Where the disk turns out to be broken, that is the store's failure from
// then on, for ever. It takes as long as opening the store; readers do not wait for it. The caller is the one who calls Begin.
func (s *Store) Reopen() error {
	old, err := s.takePaused()
	if old == nil {
		return err
	}
	defer s.giveBack()
	if err := s.roomFor(0); err != nil {
		return err
	}
	r := &reopening{s: s, old: old, e: s.newEngine()}
	if err := r.run(); err != nil {
		if final(err) {
			err = s.fail(old, err)
		}
		return fmt.Errorf("reopen store %s: %w", s.opt.Dir, err)
	}
	r.swap()
	return nil
}

// takePaused makes its caller the only writer of a store whose failure passes, and returns the engine that failed. It returns nil where nothing
// has failed.
func (s *Store) takePaused() (*engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch err := s.engine.failed; {
	case s.closed:
		return nil, ErrClosed
	case err == nil || !errors.Is(err, ErrPaused):
		return nil, err
	case s.writing:
		return nil, ErrBusy
	}
	s.writing = true
	return s.engine, nil
}

// reopening puts another engine into the place of one that has failed.
type reopening struct {
	s      *Store
	old, e *engine
	has    layout.Counters // what the new one is to have
}

// run opens the new engine and brings it to what was acknowledged. After an error nothing of it is used.
func (r *reopening) run() error {
	r.old.disk.Settle()
	r.e.disk.Keep()
	err := r.open()
	if err == nil {
		return nil
	}
	if failed := r.s.failureOf(r.e); failed != nil {
		err = failed // what came after it may only follow from it
	}
	if r.e.db != nil {
		_ = r.s.drop(r.e)
	}
	return err
}

func (r *reopening) open() (err error) {
	o := r.s.opt
	lock, err := pebble.LockDirectory(o.Dir, kv.Unlocked{FS: o.FS}) // the true lock is the one that Open took
	if err != nil {
		return err
	}
	defer index.CloseAfter(lock.Close, &err)
	if err := kv.SyncLogs(o.FS, o.Dir); err != nil {
		return err
	}
	if err := r.s.look(r.e, lock); err != nil {
		return err
	}
	if r.e.db, err = r.s.openEngine(r.e, lock, false); err != nil {
		return err
	}
	if err := r.agree(); err != nil {
		return err
	}
	if r.old.lost != nil {
		err = r.takeBack()
	}
	return errors.Join(err, r.s.failureOf(r.e))
}

// agree compares the counters. Only the commit that failed may be there beyond what was acknowledged. Its numbers are not given again, as tables
// that are not in use any more may have them.
func (r *reopening) agree() error {
	c, err := readMeta(r.e.db)
	if err != nil {
		return err
	}
	r.has = r.s.cur.counters
	want := r.has
	if c == want || r.old.lost != nil && c.Head >= want.Head {
		r.has.Head = c.Head
		return nil
	}
	return fmt.Errorf("%w: it ends at %d, and what was acknowledged at %d", kv.ErrDamaged, c.Head, want.Head)
}

// takeBack undoes a commit that failed, of which the log may have all. What it wrote gets the values that readers see.
func (r *reopening) takeBack() error {
	w := r.e.db.NewBatch()
	defer w.Close()
	wrote := batchrepr.Read(r.old.lost)
	for {
		kind, key, _, ok, err := wrote.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := r.restore(w, kind, key); err != nil {
			return err
		}
	}
	if err := w.Set(layout.MetaKey(layout.MetaCounters), r.has.Append(nil), nil); err != nil {
		return err
	}
	return r.s.commit(r.e, w, nil)
}

// restore gives a key the value that readers see.
func (r *reopening) restore(w *pebble.Batch, kind pebble.InternalKeyKind, key []byte) error {
	if kind != pebble.InternalKeyKindSet && kind != pebble.InternalKeyKindDelete {
		return fmt.Errorf("a commit has a part of kind %s", kind)
	}
	v, ok, err := index.Get(r.s.cur.snap, key)
	switch {
	case err != nil:
		return err
	case ok:
		return w.Set(key, v, nil)
	}
	return w.Delete(key, nil)
}

// swap has everybody go on with another engine, from the same state.
func (r *reopening) swap() {
	s := r.s
	st := s.newState(r.e, r.has, s.cur.epoch)
	s.mu.Lock()
	before := s.cur
	r.e.refs++
	r.old.next, s.engine, s.cur = r.e, r.e, st
	s.mu.Unlock()
	s.release(before)
	_ = s.drop(r.old) // what it could not write is known
}
