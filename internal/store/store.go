package store

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/index"
	"github.com/graspd/graspd/internal/kv"
	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
)

// Errors of the store that callers tell apart.
var (
	ErrFull = errors.New("storage full") // the floor of free disk is reached; nothing was written
	// ErrNoInodes is an ErrFull for want of inodes.
	ErrNoInodes = fmt.Errorf("%w: no inodes are free", ErrFull)
	ErrFailed   = errors.New("storage failed") // the disk failed; nothing is written until the next start
	ErrBusy     = errors.New("a batch is already open")
	ErrClosed   = errors.New("store is closed")

	ErrNone     = errors.New("there is no store")
	ErrReadOnly = errors.New("store is open for reading only")
)

// Store is an open event log with its indexes. Any goroutine may read it; there is one Batch at a time, and notes beside it.
type Store struct {
	opt  Options
	db   *pebble.DB
	lock *pebble.Lock
	disk *kv.Guard

	sketch *index.Sketch

	mu      sync.Mutex // guards what follows; never held across I/O
	cur     *state     // what readers see: the last durable state
	ring    ring       // the newest entries of the feed
	changed chan struct{}
	writing bool  // a Batch is open
	noting  bool  // notes are being written
	failed  error // the first failure of the disk, for ever
	closed  bool

	// Owned by the writer (the open batch).
	memo       index.Memo
	tally      *tally
	scratch    []byte       // for a value
	usual      int          // the size of the last batch
	queueFrom  int64        // nothing in the queue is due before this
	expireFrom int64        // nothing in the expiry table is due before this
	waitFrom   int64        // no wait is over before this
	ageFrom    int64        // no unused deletion is due before this
	sweepFrom  int64        // when all marks of deletions are looked at again
	swept      []byte       // the mark that was looked at last; nil is none
	unfinished int          // deletions of which not all is done
	finishing  *nostr.Event // the unfinished deletion on which Purge worked last
}

// state is one durable state. Its snapshot is closed when the store has moved on and the last View is closed.
type state struct {
	snap     *pebble.Snapshot
	refs     int    // guarded by Store.mu; the store itself holds one while it is current
	epoch    uint32 // of the rules
	counters layout.Counters
	waits    WaitsByKind // none where the store is open for reading only
}

// Stats are figures of the last durable state.
type Stats struct {
	Head           layout.Seq
	Events         int64 // stored
	Repositories   int64 // of these, announcements
	Remembered     int64 // events decided against and remembered
	RememberedRows int64
	Waiting        int64 // events that wait for git data
	WaitingBytes   int64
	WaitingByKind  WaitsByKind // none where the store is open for reading only
	DiskBytes      uint64
}

// Head returns the number of the last durable entry, 0 while there is none.
func (s *Store) Head() layout.Seq {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cur.counters.Head
}

// Stats returns the figures of the last durable state.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	c, waits, closed := s.cur.counters, s.cur.waits, s.closed
	s.mu.Unlock()
	st := Stats{
		Head: c.Head, Events: c.Events, Repositories: c.Repositories, Remembered: c.Flagged, RememberedRows: c.FlaggedRows,
		Waiting: c.Waiting, WaitingBytes: c.WaitingBytes, WaitingByKind: waits,
	}
	if !closed {
		st.DiskBytes = s.db.Metrics().DiskSpaceUsage()
	}
	return st
}

// Waits returns how many events wait for git data. Waits reads nothing from the disk.
func (s *Store) Waits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.cur.counters.Waiting)
}

// Failure returns the failure of the disk that stopped the store, or nil. The error wraps ErrFailed.
func (s *Store) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// fail stops all later commits. It keeps the first failure, and logs it unless Open will return it. It sets the failure before it holds
// the disk: so no commit sees a held disk without its failure.
func (s *Store) fail(err error) error {
	s.mu.Lock()
	first := s.failed == nil
	if first {
		s.failed = fmt.Errorf("%w: %w", ErrFailed, err)
	}
	failed, open := s.failed, s.cur != nil
	s.mu.Unlock()
	s.disk.Trip()
	if first && open {
		s.opt.Logger.Error("storage failed, nothing is written until the next start", "error", err)
	}
	return failed
}

// publish makes the state after a commit the one that readers see, and wakes them.
func (s *Store) publish(c layout.Counters, epoch uint32, entries []layout.Entry) {
	next := &state{snap: s.db.NewSnapshot(), refs: 1, epoch: epoch, counters: c, waits: s.tally.kinds}
	s.mu.Lock()
	old := s.cur
	s.cur = next
	s.ring.push(entries)
	if len(entries) > 0 {
		close(s.changed)
		s.changed = make(chan struct{})
	}
	s.mu.Unlock()
	s.release(old)
}

// retain returns the current state with one more reference; release gives that back.
func (s *Store) retain() *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cur.refs++
	return s.cur
}

func (s *Store) release(st *state) {
	s.mu.Lock()
	st.refs--
	last := st.refs == 0
	s.mu.Unlock()
	if last {
		st.snap.Close()
	}
}

// Close ends the store, unless a Batch is open (ErrBusy). All Views must be closed. Close does not wake readers that wait for the feed.
func (s *Store) Close() error {
	s.mu.Lock()
	err := s.mayClose()
	s.closed = s.closed || err == nil
	s.mu.Unlock()
	if err != nil {
		return err
	}
	err = s.sign()
	s.release(s.cur)
	if err := errors.Join(err, s.db.Close(), s.lock.Close()); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// sign writes the counters once more, as the last commit of all: what it follows in the log was durable.
func (s *Store) sign() error {
	if s.opt.ReadOnly || s.Failure() != nil {
		return nil
	}
	w := s.db.NewBatch()
	defer w.Close()
	if err := w.Set(layout.MetaKey(layout.MetaCounters), s.cur.counters.Append(nil), nil); err != nil {
		return err
	}
	return s.apply(w)
}

// mayClose is called with mu held.
func (s *Store) mayClose() error {
	switch {
	case s.closed:
		return ErrClosed
	case s.writing, s.noting:
		return ErrBusy
	}
	return nil
}
