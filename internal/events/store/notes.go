package store

import (
	"fmt"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// Notes returns all values that KeepNotes got, by name. Notes are small, have nothing to do with events, and mean something only to their
// writer.
func (s *Store) Notes() (_ map[string][]byte, err error) {
	e, err := s.use()
	if err != nil {
		return nil, err
	}
	defer index.CloseAfter(func() error { return s.drop(e) }, &err)
	it, err := index.TableIter(e.db, layout.TableNote)
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	defer index.CloseAfter(it.Close, &err)
	notes := make(map[string][]byte)
	for it.First(); it.Valid(); it.Next() {
		notes[string(it.Key()[1:])] = append([]byte(nil), it.Value()...)
	}
	if err := it.Error(); err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	return notes, nil
}

// KeepNotes writes some notes and removes others, all of it or nothing; when it returns, that is durable. One goroutine at a time may call
// it, also while a Batch is open. KeepNotes fails with ErrFull and ErrFailed as a commit does.
func (s *Store) KeepNotes(set map[string][]byte, remove []string) (err error) {
	done, err := s.takeNotes()
	if err != nil {
		return err
	}
	defer done()
	e, err := s.use()
	if err != nil {
		return err
	}
	defer index.CloseAfter(func() error { return s.drop(e) }, &err)
	w := e.db.NewBatch()
	defer w.Close()
	for name, value := range set {
		if err := w.Set(layout.NoteKey(name), value, nil); err != nil {
			return fmt.Errorf("keep notes: %w", err)
		}
	}
	for _, name := range remove {
		if err := w.Delete(layout.NoteKey(name), nil); err != nil {
			return fmt.Errorf("keep notes: %w", err)
		}
	}
	if w.Empty() {
		return nil
	}
	if err := s.roomFor(2 * w.Len()); err != nil {
		return fmt.Errorf("keep notes: %w", err)
	}
	if err := s.commit(e, w, nil); err != nil {
		return fmt.Errorf("keep notes: %w", err)
	}
	return nil
}

// takeNotes makes its caller the only one to write notes, until it calls done.
func (s *Store) takeNotes() (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrClosed
	case s.opt.ReadOnly:
		return nil, ErrReadOnly
	case s.replica.bar() != nil:
		return nil, s.replica.bar()
	case s.noting:
		return nil, ErrBusy
	}
	s.noting = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.noting = false
	}, nil
}
