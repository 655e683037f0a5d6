package store

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// Lead begins a term: from here on this store writes the log, until another one does. by is for the nodes that follow, and says who leads; no two
// calls in the life of a log have the same, as it tells the commits of two nodes apart that begin a term at once. The first commit of a term has what Open writes without a log: the format, and the rules of Options. Lead fails with ErrDeposed where another
// node has written meanwhile; then the store follows as before.
func (s *Store) Lead(by []byte) (term uint64, err error) {
	if err := s.takeToFollow(); err != nil {
		return 0, err
	}
	defer s.giveBack()
	defer s.committing.begin()()
	return s.replica.lead(by)
}

func (r *replica) lead(by []byte) (term uint64, err error) {
	s := r.s
	if r.barred == ErrDeposed {
		return 0, ErrDeposed
	}
	if err := s.roomFor(0); err != nil {
		return 0, err
	}
	w := s.engine.db.NewBatch()
	defer w.Close()
	epoch, err := r.startTerm(w, by)
	if err != nil {
		return 0, err
	}
	term = s.place.Term + 1
	if err := r.append(s.engine, w, term, nil); err != nil {
		return 0, err
	}
	s.publish(s.cur.counters, epoch, nil, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.barred = nil
	return term, nil
}

// startTerm finds what only a writer needs, and writes what a term begins with.
func (r *replica) startTerm(w *pebble.Batch, by []byte) (epoch uint32, err error) {
	s := r.s
	var writers own
	if err := writers.load(s.engine.db); err != nil {
		return 0, err
	}
	s.own = writers
	if epoch, err = s.startFormat(w); err != nil {
		return 0, err
	}
	if err := w.Set(layout.MetaKey(layout.MetaTerm), by, nil); err != nil {
		return 0, err
	}
	return epoch, trimRemovals(s.engine.db, s.cur.counters.Head, w)
}

// Bounds of the removals of which a store with a log tells: it keeps those among the last numbers, for readers on other nodes that are behind,
// and forgets only so many of the rest at the beginning of a term.
const (
	removalsKept   = 1 << 17
	removalsAtOnce = 1 << 20
)

// trimRemovals forgets removals that no reader is so far behind to want. A log has no range of keys that go, so each is named.
func trimRemovals(r pebble.Reader, head layout.Seq, w *pebble.Batch) (err error) {
	if head <= removalsKept {
		return nil
	}
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: layout.RemovedKey(0), UpperBound: layout.RemovedKey(head - removalsKept)})
	if err != nil {
		return err
	}
	defer index.CloseAfter(it.Close, &err)
	for n, ok := 0, it.First(); ok && n < removalsAtOnce; n, ok = n+1, it.Next() {
		if err := w.Delete(it.Key(), nil); err != nil {
			return err
		}
	}
	return it.Error()
}

// Leader returns what the node that leads said of itself (Lead); nil where none ever did.
func (v *View) Leader() ([]byte, error) {
	by, _, err := index.Get(v.st.snap, layout.MetaKey(layout.MetaTerm))
	return by, err
}
