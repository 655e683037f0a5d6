package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// Enlist makes the store in o.Dir, which nobody has open and which belongs to no log, belong to a new log, and returns the first entry of that log:
// what the store has comes before it, so nobody can apply it to another store than a copy of this one. by is as for Lead.
func Enlist(o Options, by []byte) (commitlog.Entry, error) {
	o.Log, o.ReadOnly = nil, false
	s, err := Open(o)
	if err != nil {
		return commitlog.Entry{}, err
	}
	x, err := writeFirst(s, by)
	return x, errors.Join(err, s.Close())
}

func writeFirst(s *Store, by []byte) (commitlog.Entry, error) {
	key := layout.MetaKey(layout.MetaTerm)
	body := commitlog.Body{Term: 1, Head: uint64(s.Head()), Changes: commitlog.Changes{Keys: []commitlog.Change{{Key: key, Value: by}}}}
	encoded, err := body.Encode()
	if err != nil {
		return commitlog.Entry{}, err
	}
	x := commitlog.NewEntry(1, commitlog.Chain{}, encoded)
	at := Place{Position: uint64(x.At), Term: body.Term, Began: uint64(x.At), Chain: x.Chain}
	w := s.engine.db.NewBatch()
	defer w.Close()
	if err := w.Set(key, by, nil); err != nil {
		return commitlog.Entry{}, err
	}
	if err := w.Set(layout.MetaKey(layout.MetaPlace), at.Append(nil), nil); err != nil {
		return commitlog.Entry{}, err
	}
	return x, s.commit(s.engine, w, nil)
}

// StandAlone makes the store in o.Dir, which nobody has open, belong to no log any more.
func StandAlone(o Options) error {
	o.Log, o.ReadOnly = nil, false
	s := newStore(o)
	s.leaves = true
	if err := s.open(); err != nil {
		return fmt.Errorf("open store %s: %w", o.Dir, err)
	}
	w := s.engine.db.NewBatch()
	defer w.Close()
	for _, name := range []string{layout.MetaPlace, layout.MetaTerm} {
		if err := w.Delete(layout.MetaKey(name), nil); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return errors.Join(s.commit(s.engine, w, nil), s.Close())
}

// PlaceIn returns up to where the store in o.Dir has its log; the zero Place where it belongs to none. It fails as Open does for reading, and with
// ErrNone where the store has nothing at all: a kill may have taken all that a store with a log had, as that is synced late.
func PlaceIn(o Options) (Place, error) {
	o.ReadOnly = true
	s, err := Open(o)
	if err != nil {
		return Place{}, err
	}
	at := s.LogPlace()
	formed, err := hasFormat(s.engine.db)
	if err == nil && !formed {
		err = ErrNone
	}
	return at, errors.Join(err, s.Close())
}

// BeginsTerm reports whether an entry is the first of a term, and returns what the node said of itself that began it (Lead).
func BeginsTerm(x commitlog.Entry) (by []byte, is bool, err error) {
	body, err := commitlog.ParseBody(x.Body)
	if err != nil {
		return nil, false, fmt.Errorf("commit %d: %w", x.At, err)
	}
	i, is := slices.BinarySearchFunc(body.Changes.Keys, layout.MetaKey(layout.MetaTerm), func(k commitlog.Change, key []byte) int { return bytes.Compare(k.Key, key) })
	if !is {
		return nil, false, nil
	}
	return body.Changes.Keys[i].Value, true, nil
}
