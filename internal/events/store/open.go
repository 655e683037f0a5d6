package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/kv"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// Open opens the store in o.Dir, or makes a new one. Open fails with ErrInUse where another process has it open, with ErrFormat where
// another version wrote it, and with ErrDamaged where the disk does not have what was written; then it has removed nothing.
func Open(o Options) (*Store, error) {
	s := newStore(o)
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Dir, err)
	}
	return s, nil
}

func newStore(o Options) *Store {
	s := &Store{opt: o.withDefaults(), committing: make(sole, 1), changed: make(chan struct{}), moved: make(chan struct{}), rowsChanged: newChanges(), sketch: index.NewSketch()}
	if o.Log != nil && !o.ReadOnly {
		s.replica = &replica{s: s, log: o.Log, barred: ErrFollows, over: make(chan struct{})}
	}
	return s
}

func (s *Store) open() error {
	if err := s.makeDirectory(); err != nil {
		return err
	}
	lock, err := kv.LockDirectory(s.opt.FS, s.opt.Dir, s.opt.ReadOnly)
	if err != nil {
		return err
	}
	if err := s.openLocked(lock); err != nil {
		return errors.Join(err, lock.Close())
	}
	s.lock = lock
	return nil
}

// openLocked opens the store under a lock, which stays the caller's where it fails.
func (s *Store) openLocked(lock *pebble.Lock) error {
	e := s.newEngine()
	s.engine = e
	used, err := kv.HasFiles(s.opt.FS, s.opt.Dir)
	if err != nil {
		return err
	}
	if used {
		err = s.look(e, lock)
	} else if s.opt.ReadOnly {
		err = ErrNone
	}
	if err != nil {
		return err
	}
	if e.db, err = s.openEngine(e, lock, s.opt.ReadOnly); err != nil {
		return err
	}
	c, epoch, err := s.prepare()
	if err != nil {
		return errors.Join(damaged(err), e.db.Close())
	}
	if !s.opt.ReadOnly {
		s.sketch.Load(e.db)
		if err := s.own.load(e.db); err != nil {
			return errors.Join(damaged(err), e.db.Close())
		}
	}
	s.cur = s.newState(e, c, epoch)
	s.ring.start(c.Head)
	if s.replica == nil {
		return nil
	}
	if err := s.replica.catchUp(c); err != nil {
		s.release(s.cur)
		return errors.Join(err, s.drop(e))
	}
	return nil
}

// prepare reads the meta data, writes what is missing, and forgets removals, which only readers of a past process
// could have wanted.
func (s *Store) prepare() (c layout.Counters, epoch uint32, err error) {
	if err := s.Failure(); err != nil {
		return c, 0, err
	}
	if c, err = readMeta(s.engine.db); err != nil {
		return c, 0, err
	}
	if err := s.findPlace(); err != nil {
		return c, 0, err
	}
	if s.replica != nil { // the log has all that it writes
		epoch, _, _, err = readRules(s.engine.db)
		return c, epoch, err
	}
	w := s.engine.db.NewBatch()
	defer w.Close()
	if epoch, err = s.startFormat(w); err != nil || s.opt.ReadOnly {
		return c, epoch, err
	}
	if err := w.DeleteRange([]byte{layout.TableRemoved}, []byte{layout.TableRemoved + 1}, nil); err != nil {
		return c, 0, err
	}
	return c, epoch, s.commit(s.engine, w, nil)
}

// startFormat writes the format, and another epoch where the rules have changed.
func (s *Store) startFormat(w *pebble.Batch) (epoch uint32, err error) {
	if epoch, err = s.startEpoch(w); err != nil {
		return 0, err
	}
	return epoch, w.Set(layout.MetaKey(layout.MetaFormat), binary.BigEndian.AppendUint32(nil, layout.FormatVersion), nil)
}

// hasFormat reports whether the store has a format yet, which must be one that is read.
func hasFormat(r pebble.Reader) (bool, error) {
	v, ok, err := index.Get(r, layout.MetaKey(layout.MetaFormat))
	if err != nil || !ok {
		return false, err
	}
	return true, checkFormat(v)
}

func checkFormat(v []byte) error {
	if len(v) != 4 {
		return fmt.Errorf("format version: %w", layout.ErrCorrupt)
	}
	return layout.CheckFormat(v)
}

// readMeta checks the version of the format and reads the counters.
func readMeta(r pebble.Reader) (layout.Counters, error) {
	if ok, err := hasFormat(r); err != nil || !ok {
		return layout.Counters{}, err
	}
	v, ok, err := index.Get(r, layout.MetaKey(layout.MetaCounters))
	if err != nil || !ok {
		return layout.Counters{}, err
	}
	return layout.ReadCounters(v)
}
