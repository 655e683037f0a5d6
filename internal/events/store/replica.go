package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// replica is the part of a store that shares a log of commits with others (Options.Log). It follows the log until Lead, and from then on writes
// it. Its methods are for whoever is alone with a commit, but for bar.
type replica struct {
	s   *Store
	log commitlog.Log

	barred error         // why nothing is written although the disk is sound, ErrFollows or ErrDeposed; nil once it leads. Guarded by Store.mu
	over   chan struct{} // closed when a store that led is deposed
	head   layout.Seq    // the number of the last entry of the feed, as the log has it
}

// Errors of a store with a log that callers tell apart.
var (
	ErrFollows      = errors.New("the store follows its log: another node writes")         // Lead ends it
	ErrDeposed      = errors.New("another node writes the log")                            // nothing is written until the next start
	ErrNotFollowing = errors.New("the store does not follow a log")                        // it has none, or leads
	ErrNotNext      = errors.New("the commit is not the next one of the store")            // of Apply
	ErrHistory      = commitlog.ErrHistory                                                 // of Open and Apply: it is not the store's
	ErrLogged       = errors.New("the store belongs to a log of commits, and none is set") // of Open without one
)

// Place is up to where a store has its log.
type Place = layout.Place

// LogPlace returns up to where the store has its log. Where it follows, a View shows all up to there. Where it leads, notes count too, and a View may be
// of an earlier commit.
func (s *Store) LogPlace() Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place
}

// FollowPlace returns the same, and a channel that is closed when the store has more of its log.
func (s *Store) FollowPlace() (Place, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place, s.moved
}

// bar returns why the store does not write; nil where it has no log, or leads. Store.mu is held.
func (r *replica) bar() error {
	if r == nil {
		return nil
	}
	return r.barred
}

// commit makes a commit in the term in which the store leads.
func (r *replica) commit(e *engine, w *pebble.Batch, told []string) error {
	r.s.mu.Lock()
	err, term := r.bar(), r.s.place.Term
	r.s.mu.Unlock()
	if err != nil {
		return err
	}
	return r.append(e, w, term, told)
}

// append has the log take a commit, and then the engine.
func (r *replica) append(e *engine, w *pebble.Batch, term uint64, told []string) error {
	if err := r.s.failureOf(e); err != nil { // nothing comes into the log that this store cannot have
		return err
	}
	keys, err := keysOf(w.Repr())
	if err != nil {
		return err
	}
	at := r.s.LogPlace()
	body := commitlog.Body{Term: term, Head: uint64(r.headAfter(keys)), Began: at.Began, Changes: commitlog.Changes{Keys: keys, Told: told}}
	encoded, err := body.Encode()
	if err != nil {
		return err
	}
	next := commitlog.NewEntry(commitlog.Position(at.Position)+1, at.Chain, encoded)
	switch err := commitlog.Settle(context.Background(), r.log, next, at.Chain); {
	case errors.Is(err, commitlog.ErrOther):
		return r.deposed()
	case err != nil:
		return r.s.fail(e, fmt.Errorf("it is not known whether the log has a commit: %w", err))
	}
	if term != at.Term {
		if last, err := r.isLast(next.At); err != nil {
			return r.s.fail(e, fmt.Errorf("it is not known whether the log goes on after the first commit of a term: %w", err))
		} else if !last {
			return ErrDeposed
		}
	}
	place, err := r.enter(e, w, next, body)
	if err != nil {
		return err
	}
	r.reach(place)
	return nil
}

// isLast reports whether the log ends with an entry that begins a term. The beginning of a log is removed at times, but for the entries that begin
// terms and for the last ones. So a store that has not read the log for long may put an entry where one was and is no more; then later ones are
// there. And a store that leads is refused by the entry that ended its term, however late it asks.
func (r *replica) isLast(at commitlog.Position) (bool, error) {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		_, err := r.log.Read(context.Background(), at+1)
		switch {
		case errors.Is(err, commitlog.ErrNone):
			return true, nil
		case err == nil, errors.Is(err, commitlog.ErrGap):
			return false, nil
		case errors.Is(err, commitlog.ErrClosed):
			return false, err
		}
		if err := sleep.For(context.Background(), wait); err != nil {
			return false, err
		}
	}
}

// enter writes a commit that the log has. The engine need not sync it: Open finds in the log what the engine has lost.
// It returns where the store then has the log, which its caller tells by reach.
func (r *replica) enter(e *engine, w *pebble.Batch, x commitlog.Entry, body commitlog.Body) (Place, error) {
	at := Place{Position: uint64(x.At), Term: body.Term, Began: body.Began, Chain: x.Chain}
	if body.Term != r.s.LogPlace().Term {
		at.Began = at.Position
	}
	if err := w.Set(layout.MetaKey(layout.MetaPlace), at.Append(nil), nil); err != nil {
		return at, r.s.fail(e, err)
	}
	if err := r.s.write(e, w, pebble.NoSync); err != nil {
		return at, err
	}
	r.head = layout.Seq(body.Head)
	return at, nil
}

// reach tells up to where the store has the log.
func (r *replica) reach(at Place) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.place = at
	close(r.s.moved)
	r.s.moved = make(chan struct{})
}

// deposed ends the writing of a store that leads: another node has written the log.
func (r *replica) deposed() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.barred == nil {
		r.barred = ErrDeposed
		close(r.over)
	}
	return ErrDeposed
}

// Deposed returns a channel that is closed when a commit of this store, which leads, was refused: another node has written the log. Without a log
// that never happens.
func (s *Store) Deposed() <-chan struct{} {
	if s.replica == nil {
		return nil
	}
	return s.replica.over
}

// headAfter is the number of the last entry of the feed after a commit. Notes have no counters.
func (r *replica) headAfter(keys []commitlog.Change) layout.Seq {
	i, ok := slices.BinarySearchFunc(keys, layout.MetaKey(layout.MetaCounters), func(k commitlog.Change, key []byte) int { return bytes.Compare(k.Key, key) })
	if ok {
		if c, err := layout.ReadCounters(keys[i].Value); err == nil {
			return c.Head
		}
	}
	return r.head
}

// keysOf returns what a batch of the engine does to each key in the end, by key.
func keysOf(repr []byte) (keys []commitlog.Change, err error) {
	wrote := batchrepr.Read(repr)
	for {
		kind, key, value, ok, err := wrote.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if kind != pebble.InternalKeyKindSet && kind != pebble.InternalKeyKindDelete {
			return nil, fmt.Errorf("a commit has a part of kind %s", kind)
		}
		keys = append(keys, commitlog.Change{Key: key, Value: value, Gone: kind == pebble.InternalKeyKindDelete})
	}
	slices.SortStableFunc(keys, func(a, b commitlog.Change) int { return bytes.Compare(a.Key, b.Key) })
	last := keys[:0]
	for i, k := range keys {
		if i+1 == len(keys) || !bytes.Equal(k.Key, keys[i+1].Key) {
			last = append(last, k)
		}
	}
	return last, nil
}

// findPlace reads up to where a store that is opened has its log. A store that was written without a log gets none afterwards, and the other way
// round.
func (s *Store) findPlace() error {
	v, ok, err := index.Get(s.engine.db, layout.MetaKey(layout.MetaPlace))
	if err != nil {
		return err
	}
	if !ok {
		formed, err := hasFormat(s.engine.db)
		if err == nil && formed && s.replica != nil {
			err = fmt.Errorf("%w: the store was written without it", ErrHistory)
		}
		return err
	}
	if s.replica == nil && !s.opt.ReadOnly && !s.leaves {
		return ErrLogged
	}
	s.place, err = layout.ParsePlace(v)
	return err
}
