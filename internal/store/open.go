package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Names in the meta table.
const (
	metaFormat   = "format"
	metaCounters = "counters"
	metaRules    = "rules" // epoch, fingerprint
)

// Open opens the store in o.Dir or makes a new one. It fails with ErrInUse where another process has it open, and with
// ErrFormat where a newer version wrote it.
func Open(o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{opt: o, changed: make(chan struct{})}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Dir, err)
	}
	return s, nil
}

func (s *Store) open() error {
	if err := s.opt.FS.MkdirAll(s.opt.Dir, 0o700); err != nil {
		return err
	}
	lock, err := lockDirectory(s.opt.FS, s.opt.Dir)
	if err != nil {
		return err
	}
	fail := func(err error) { s.fail(err) }
	s.disk = newGuard(s.opt.FS, fail)
	db, err := pebble.Open(s.opt.Dir, s.opt.pebbleOptions(s.disk, lock, &pebbleLogger{s.opt.Logger, fail}))
	if err != nil {
		return errors.Join(err, s.Failure(), lock.Close())
	}
	s.db, s.lock = db, lock
	c, err := s.prepare()
	if err != nil {
		return errors.Join(err, db.Close(), lock.Close())
	}
	s.cur = &state{snap: db.NewSnapshot(), refs: 1, counters: c}
	s.ring.start(c.head)
	return nil
}

// lockDirectory takes the lock that Pebble would take, to tell a second process from other trouble.
func lockDirectory(fsys vfs.FS, dir string) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, fsys)
	switch {
	case err == nil:
		return lock, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return nil, fmt.Errorf("%w (%w)", ErrInUse, err)
}

// prepare reads the meta data, writes what is missing, and forgets removals, which only readers of a past process
// could have wanted.
func (s *Store) prepare() (counters, error) {
	if err := s.Failure(); err != nil {
		return counters{}, err
	}
	c, err := s.checkFormat()
	if err != nil {
		return c, err
	}
	w := s.db.NewBatch()
	defer w.Close()
	if err := s.startEpoch(w); err != nil {
		return c, err
	}
	if err := w.Set(keyMeta(metaFormat), binary.BigEndian.AppendUint32(nil, formatVersion), nil); err != nil {
		return c, err
	}
	if err := w.DeleteRange([]byte{tableRemoved}, []byte{tableRemoved + 1}, nil); err != nil {
		return c, err
	}
	if err := w.Commit(pebble.Sync); err != nil {
		return c, err
	}
	return c, s.Failure()
}

func (s *Store) checkFormat() (counters, error) {
	v, ok, err := get(s.db, keyMeta(metaFormat))
	if err != nil || !ok {
		return counters{}, err
	}
	if len(v) != 4 {
		return counters{}, fmt.Errorf("format version: %w", errCorrupt)
	}
	if n := binary.BigEndian.Uint32(v); n > formatVersion {
		return counters{}, fmt.Errorf("%w (format %d, this one knows %d)", ErrFormat, n, formatVersion)
	}
	v, ok, err = get(s.db, keyMeta(metaCounters))
	if err != nil || !ok {
		return counters{}, err
	}
	return parseCounters(v)
}

// startEpoch counts the changes of the rules. What the rules of another epoch refused counts as forgotten at once;
// its rows go when they are due.
func (s *Store) startEpoch(w *pebble.Batch) error {
	v, ok, err := get(s.db, keyMeta(metaRules))
	if err != nil {
		return err
	}
	if ok && len(v) < 4 {
		return fmt.Errorf("rules: %w", errCorrupt)
	}
	if ok {
		s.epoch = binary.BigEndian.Uint32(v)
	}
	if ok && (s.opt.Rules == "" || string(v[4:]) == s.opt.Rules) {
		return nil
	}
	s.epoch++
	v = append(binary.BigEndian.AppendUint32(nil, s.epoch), s.opt.Rules...)
	return w.Set(keyMeta(metaRules), v, nil)
}

// get copies one value out of the database, a snapshot or an indexed batch.
func get(r pebble.Reader, key []byte) ([]byte, bool, error) {
	v, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read %q: %w", key[:1], err)
	}
	v = append([]byte(nil), v...)
	return v, true, closer.Close()
}
