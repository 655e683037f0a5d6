package store

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Errors of the store that callers tell apart.
var (
	ErrFull = errors.New("storage full") // the floor of free disk is reached; nothing was written
	// ErrNoInodes is an ErrFull for want of inodes.
	ErrNoInodes = fmt.Errorf("%w: no inodes are free", ErrFull)
	// ErrUnknownRoom says that the disk does not tell how much is free; nothing was written.
	ErrUnknownRoom = errors.New("the disk does not tell what is free")
	ErrFailed      = errors.New("storage failed") // the disk failed; nothing is written until the next start
	// ErrPaused is an ErrFailed that passes: for want of room on the disk, or of open files. Reopen ends it.
	ErrPaused = fmt.Errorf("%w for now", ErrFailed)
	ErrBusy   = errors.New("a batch is already open")
	ErrClosed = errors.New("store is closed")

	ErrNone     = errors.New("there is no store")
	ErrReadOnly = errors.New("store is open for reading only")
)

// Store is an open event log with its indexes. Any goroutine may read it; there is one Batch at a time, and notes beside it.
type Store struct {
	opt  Options
	lock *pebble.Lock

	sketch *index.Sketch

	committing sole

	mu      sync.Mutex // guards what follows; never held across I/O
	engine  *engine    // what is written to
	cur     *state     // what readers see: the last durable state
	ring    ring       // the newest entries of the feed
	changed chan struct{}

	rowsChanged changes

	writing bool // a Batch is open
	noting  bool // notes are being written
	closed  bool

	place   Place         // up to where the store has its log
	moved   chan struct{} // closed when place moves
	replica *replica      // nil without a log
	leaves  bool          // it belongs to a log no more, once it is open

	own
}

// own is what the writer alone uses (the open batch). A store that follows keeps the counts by kind of the tally, and the rest is old until Lead.
type own struct {
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

// load finds what only a writer needs, but for the sketch, which readers need too.
func (o *own) load(r pebble.Reader) (err error) {
	if o.unfinished, err = index.CountUnfinished(r); err != nil {
		return err
	}
	o.tally, err = loadTally(r)
	return err
}

// state is one durable state. Its snapshot is closed when the store has moved on and the last View is closed.
type state struct {
	snap     *pebble.Snapshot
	engine   *engine
	refs     int    // guarded by Store.mu; the store itself holds one while it is current
	epoch    uint32 // of the rules
	counters layout.Counters
	waits    WaitsByKind // none where the store is open for reading only
}

// Stats are figures of the last durable state.
type Stats struct {
	Head           layout.Seq
	Events         int64 // stored
	Repositories   int64 // announcements among the events
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
	c, waits := s.cur.counters, s.cur.waits
	s.mu.Unlock()
	st := Stats{
		Head: c.Head, Events: c.Events, Repositories: c.Repositories, Remembered: c.Flagged, RememberedRows: c.FlaggedRows,
		Waiting: c.Waiting, WaitingBytes: c.WaitingBytes, WaitingByKind: waits,
	}
	if e, err := s.use(); err == nil {
		st.DiskBytes = e.db.Metrics().DiskSpaceUsage()
		_ = s.drop(e) // it is closed here only where it has failed
	}
	return st
}

// Waits returns how many events wait for git data. Waits reads nothing from the disk.
func (s *Store) Waits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.cur.counters.Waiting)
}

// Failure returns the failure of the disk that stopped the store, or nil. The error wraps ErrFailed, and ErrPaused where it passes.
func (s *Store) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.failed
}

// publish makes the state after a commit the one that readers see, and wakes them.
func (s *Store) publish(c layout.Counters, epoch uint32, entries []layout.Entry, rows []string) {
	next := s.newState(s.engine, c, epoch)
	s.mu.Lock()
	old := s.cur
	s.cur = next
	s.ring.push(entries)
	s.rowsChanged.push(rows)
	if len(entries) > 0 {
		close(s.changed)
		s.changed = make(chan struct{})
	}
	s.mu.Unlock()
	s.release(old)
}

// newState makes a state of what an engine has. Only the writer calls it.
func (s *Store) newState(e *engine, c layout.Counters, epoch uint32) *state {
	st := &state{snap: e.db.NewSnapshot(), engine: e, refs: 1, epoch: epoch, counters: c}
	if s.tally != nil {
		st.waits = s.tally.kinds
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.refs++
	return st
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
		_ = s.drop(st.engine) // it is closed here only where it has failed
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
	if err := errors.Join(err, s.drop(s.engine), s.lock.Close()); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// sign writes the counters once more, as the last commit of all: what it follows in the log was durable.
func (s *Store) sign() error {
	if s.opt.ReadOnly || s.replica != nil || s.Failure() != nil {
		return nil
	}
	w := s.engine.db.NewBatch()
	defer w.Close()
	if err := w.Set(layout.MetaKey(layout.MetaCounters), s.cur.counters.Append(nil), nil); err != nil {
		return err
	}
	return s.commit(s.engine, w, nil)
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
