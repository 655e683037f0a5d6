package store

import "github.com/cockroachdb/pebble/v2"

// commit makes durable what a batch of an engine writes. All that is ever written to an engine goes through commit: batches, notes, and what
// Open, Close and Reopen write. Commits are made one at a time. So a note waits for a commit under way, but for no batch that is open.
func (s *Store) commit(e *engine, w *pebble.Batch) error {
	defer s.alone()()
	return s.apply(e, w)
}

// alone waits until no commit is under way. Its caller's commit is, until it calls over.
func (s *Store) alone() (over func()) {
	s.committing <- struct{}{}
	return func() { <-s.committing }
}

// apply writes and syncs. An error here leaves open what a restart will find, so it stops the store.
func (s *Store) apply(e *engine, w *pebble.Batch) error {
	if err := s.failureOf(e); err != nil {
		return err
	}
	if err := w.Commit(pebble.Sync); err != nil {
		return s.fail(e, err)
	}
	return s.failureOf(e) // the guard of the disk tells nobody else
}
