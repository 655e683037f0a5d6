package store

import "github.com/cockroachdb/pebble/v2"

// commit makes durable what a batch of an engine writes. All that this process decides to write goes through commit: batches, notes, and what
// Open, Lead, Close and Reopen write. Commits are made one at a time. So a note waits for a commit under way, but for no batch that is open.
// told are the names of rows that readers hear of. With a log of commits the log has the commit first.
func (s *Store) commit(e *engine, w *pebble.Batch, told []string) error {
	defer s.committing.begin()()
	if s.replica != nil {
		return s.replica.commit(e, w, told)
	}
	return s.write(e, w, pebble.Sync)
}

// sole lets one commit at a time be under way. It is no lock, as a commit may wait for the log by the clock.
type sole chan struct{}

// begin waits until no commit is under way. Its caller's is, until it calls over.
func (c sole) begin() (over func()) {
	c <- struct{}{}
	return func() { <-c }
}

// write writes to an engine. An error here leaves open what a restart will find, so it stops the store.
func (s *Store) write(e *engine, w *pebble.Batch, o *pebble.WriteOptions) error {
	if err := s.failureOf(e); err != nil {
		return err
	}
	if err := w.Commit(o); err != nil {
		return s.fail(e, err)
	}
	return s.failureOf(e) // the guard of the disk tells nobody else
}
