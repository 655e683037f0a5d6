package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// Apply takes the next commit of the log. It fails with ErrNotNext where the entry is not the next one, with ErrHistory where it comes after
// another commit than the store's last, and with ErrNotFollowing once the store leads; then, and where the entry is damaged or there is no
// room, it has changed nothing. The caller is the one who calls Lead and Begin. Views, the feed and Changes then show what they show where the
// commit was made.
func (s *Store) Apply(x commitlog.Entry) error {
	if err := s.takeToFollow(); err != nil {
		return err
	}
	defer s.giveBack()
	defer s.committing.begin()()
	if err := s.replica.follow(x); err != nil {
		return fmt.Errorf("apply commit %d: %w", x.At, err)
	}
	return nil
}

// takeToFollow makes its caller the only one to change a store that follows.
func (s *Store) takeToFollow() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.replica.bar() == nil:
		return ErrNotFollowing
	case s.engine.failed != nil:
		return s.engine.failed
	case s.writing:
		return ErrBusy
	}
	s.writing = true
	return nil
}

// follow does what Apply does, in the place of the writer.
func (r *replica) follow(x commitlog.Entry) error {
	at := r.s.LogPlace()
	if uint64(x.At) != at.Position+1 {
		return fmt.Errorf("%w: that is %d", ErrNotNext, at.Position+1)
	}
	body, err := commitlog.ParseBody(x.Body)
	if err != nil {
		return err
	}
	if !x.Follows(x.At-1, at.Chain) {
		return ErrHistory
	}
	if body.Began != at.Began || body.Term < at.Term {
		return fmt.Errorf("%w: it is of term %d after one of term %d, which began at %d and not at %d", commitlog.ErrDamaged, body.Term, at.Term, at.Began, body.Began)
	}
	next, err := r.stepOf(body)
	if err != nil {
		return err
	}
	w := r.s.engine.db.NewBatch()
	defer w.Close()
	if err := putKeys(w, body.Changes.Keys); err != nil {
		return err
	}
	if err := r.s.roomFor(2 * w.Len()); err != nil {
		return err
	}
	for _, k := range body.Changes.Keys { // before anybody sees the rows
		if !k.Gone {
			r.s.sketch.Wrote(k.Key)
		}
	}
	place, err := r.enter(r.s.engine, w, x, body)
	if err != nil {
		return err
	}
	r.s.tally.kinds = next.waits
	r.s.publish(next.counters, next.epoch, next.entries, body.Changes.Told)
	r.reach(place) // whoever waits for it looks for what it shows
	return nil
}

func putKeys(w *pebble.Batch, keys []commitlog.Change) (err error) {
	for _, k := range keys {
		if k.Gone {
			err = w.Delete(k.Key, nil)
		} else {
			err = w.Set(k.Key, k.Value, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step is what a commit that was made elsewhere does to what a reader has in memory.
type step struct {
	counters layout.Counters
	epoch    uint32
	waits    WaitsByKind
	entries  []layout.Entry // of the feed: what came and went within the commit has none
}

func (r *replica) stepOf(b commitlog.Body) (step, error) {
	s := r.s
	next := step{counters: s.cur.counters, epoch: s.cur.epoch, waits: s.tally.kinds}
	for _, k := range b.Changes.Keys {
		if err := next.read(s.cur.snap, k); err != nil {
			return step{}, fmt.Errorf("key %q: %w", k.Key, err)
		}
	}
	if next.counters.Head != layout.Seq(b.Head) {
		return step{}, fmt.Errorf("%w: it ends at %d, and says %d", commitlog.ErrDamaged, next.counters.Head, b.Head)
	}
	slices.SortFunc(next.entries, func(a, b layout.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return next, nil
}

// read takes a changed key into account.
func (n *step) read(before pebble.Reader, k commitlog.Change) error {
	switch k.Key[0] {
	case layout.TableMeta:
		return n.readMeta(string(k.Key[1:]), k)
	case layout.TableLog:
		return n.readEntry(k, layout.AddedEntry)
	case layout.TableRemoved:
		return n.readEntry(k, layout.RemovedEntry)
	case layout.TableWaiting:
		if k.Gone {
			return n.waitEnds(before, k.Key)
		}
		if err := n.readEntry(k, layout.WaitingEntry); err != nil {
			return err
		}
		n.waits.count(n.entries[len(n.entries)-1].Waits.Kind, 1)
	case layout.TableTag:
		if len(k.Key) < 2 {
			return layout.ErrCorrupt
		}
	}
	return nil
}

func (n *step) readMeta(name string, k commitlog.Change) (err error) {
	switch {
	case k.Gone || name == layout.MetaPlace:
		return layout.ErrCorrupt
	case name == layout.MetaCounters:
		n.counters, err = layout.ReadCounters(k.Value)
	case name == layout.MetaRules:
		n.epoch, _, err = parseRules(k.Value)
	case name == layout.MetaFormat:
		err = checkFormat(k.Value)
	}
	return err
}

// readEntry takes an entry that has come into the feed. One that has gone has another entry, of its removal.
func (n *step) readEntry(k commitlog.Change, parse func(layout.Seq, []byte) (layout.Entry, error)) error {
	if len(k.Key) != 1+8 {
		return layout.ErrCorrupt
	}
	if k.Gone {
		return nil
	}
	e, err := parse(layout.Seq(binary.BigEndian.Uint64(k.Key[1:])), k.Value)
	n.entries = append(n.entries, e)
	return err
}

// waitEnds counts an event that waits no more, unless it began to wait in the same commit.
func (n *step) waitEnds(before pebble.Reader, key []byte) error {
	v, ok, err := index.Get(before, key)
	if err != nil || !ok {
		return err
	}
	kind, err := layout.WaitingKind(v)
	n.waits.count(kind, -1)
	return err
}
