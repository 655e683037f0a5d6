package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/index"
	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// Batch is the one open batch. It belongs to one goroutine, the ingest writer. What was put into it is seen by its own
// methods at once and by everybody else when Commit has returned. After an error only Discard makes sense.
type Batch struct {
	s        *Store
	w        *pebble.Batch
	entries  []layout.Entry // for the feed, in order
	ops      int            // what was added, remembered, removed or forgotten, and rows that were set
	epoch    uint32         // of the rules
	counters layout.Counters
	lost     []string       // d of the announcements that left, for LostRepositories
	gone     []*nostr.Event // for Gone
	done     bool           // it is durable

	// The event that Judge had nothing against, and how many writes there were then: it need not be asked again.
	judged   *nostr.Event
	judgedAt uint32

	closed bool
	steps  int // for Steps

	unfinished int                               // deletions of which not all is done
	marked     map[nostr.PubKey]layout.MarkCount // of authors whose deletions have left marks in it, or taken some back

	untally []func() // takes back what it has done to the tally, the last first

	// Where the iterators of the queue, of the expiry table and of the order of waits may start; the store's own once committed.
	queueFrom, expireFrom, waitFrom, ageFrom int64

	used bool // the deletion that was looked at last has removed something
}

// maxUsual is how much room is made for a batch before it grows, at most. The engine uses room again that is no larger
// than maxReused.
const (
	maxUsual  = 4 << 20
	maxReused = 1 << 20
)

// roomFor is how much room the next batch gets after one of n bytes.
func roomFor(n int) int {
	if n <= maxReused {
		return min(n*5/4, maxReused)
	}
	return min(n*5/4, maxUsual)
}

// Begin opens the batch. It fails with ErrBusy while another is open, with ErrFull while the disk is at its floor, and
// with ErrFailed after a failure of the disk.
func (s *Store) Begin() (*Batch, error) {
	if err := s.take(); err != nil {
		return nil, err
	}
	if err := s.roomFor(0); err != nil {
		s.giveBack()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Batch{
		s: s, w: s.db.NewIndexedBatchWithSize(s.usual), epoch: s.cur.epoch, counters: s.cur.counters,
		queueFrom: s.queueFrom, expireFrom: s.expireFrom, waitFrom: s.waitFrom, ageFrom: s.ageFrom, unfinished: s.unfinished,
	}, nil
}

// take makes the caller the one who writes.
func (s *Store) take() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.opt.ReadOnly:
		return ErrReadOnly
	case s.failed != nil:
		return s.failed
	case s.writing:
		return ErrBusy
	}
	s.writing = true
	return nil
}

func (s *Store) giveBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = false
}

// Full reports whether the batch is as large as a usual one should be: the memory of a larger one is not used again.
func (b *Batch) Full() bool { return b.w.Len() >= maxReused-maxReused/16 }

// Len is the number of things done in this batch.
func (b *Batch) Len() int { return b.ops }

// Commit makes the batch durable and then visible, and returns the number of its last entry (or of the last one before
// it, where it has none). After an error nothing of it is visible, and it may be that nothing can be written any more:
// then the error wraps ErrFailed. With ErrFull nothing was written. Either way the batch is closed.
func (b *Batch) Commit() (layout.Seq, error) {
	defer b.Discard()
	if b.closed {
		return 0, ErrClosed
	}
	if b.ops == 0 {
		return b.s.Head(), nil
	}
	if err := b.forgetDue(); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	if err := b.writeMarks(); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	if err := b.w.Set(layout.MetaKey(layout.MetaCounters), b.counters.Append(nil), nil); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	if err := b.s.roomFor(2 * b.w.Len()); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	if err := b.s.apply(b.w); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	// The commit point: from here on the batch survives a power cut, and readers may see it.
	b.done = true
	b.s.usual = roomFor(b.w.Len())
	b.s.queueFrom, b.s.expireFrom, b.s.waitFrom, b.s.unfinished = b.queueFrom, b.expireFrom, b.waitFrom, b.unfinished
	b.s.ageFrom = b.ageFrom
	b.s.publish(b.counters, b.epoch, b.entries)
	return b.counters.Head, nil
}

// apply writes and syncs. Whatever goes wrong here leaves it open what a restart will find, so it stops the store.
func (s *Store) apply(w *pebble.Batch) error {
	if err := s.Failure(); err != nil {
		return err
	}
	if err := w.Commit(pebble.Sync); err != nil {
		return s.fail(err)
	}
	return s.Failure() // the guard of the disk tells nobody else
}

// Discard drops the batch if it was not committed. It may be called more than once.
func (b *Batch) Discard() {
	if b.closed {
		return
	}
	b.closed = true
	if !b.done {
		b.s.memo = index.Memo{}
		b.dropTally()
	}
	b.w.Close()
	b.s.giveBack()
}

func (b *Batch) reader() index.Reader {
	return index.Reader{From: b.w, Epoch: b.epoch, Now: b.s.opt.Now().Unix(), Sketch: b.s.sketch, Memo: &b.s.memo, Unfinished: b.unfinished}
}

// Steps is how much work was done in this batch, as Meter counts it, a row that is written or deleted being 4. What is only
// looked up is not counted.
func (b *Batch) Steps() int { return b.steps }

func (b *Batch) set(key, value []byte) error {
	b.steps += index.SeekCost
	b.s.sketch.Wrote(key)
	b.s.memo.Wrote(key, value)
	return b.w.Set(key, value, nil)
}

func (b *Batch) delete(key []byte) error {
	b.steps += index.SeekCost
	b.s.memo.Deleted(key)
	return b.w.Delete(key, nil)
}

func (b *Batch) next() layout.Seq {
	b.counters.Head++
	return b.counters.Head
}

// Add stores the event if the store's rules have nothing against it, and says what they said: Accept, or what Judge says. One that waits is
// released by it. A deletion that removes nothing may have left again when it returns. It makes older versions go, and what a deletion
// names; what a request to vanish asks for begins, and Purge does it. Whether the event is genuine and wanted was decided before. It is
// shared from here on, nobody changes it.
func (b *Batch) Add(e *nostr.Event, src layout.Source) (policy.Outcome, error) {
	out, err := policy.Accept, error(nil)
	if b.judged != e || b.judgedAt != b.w.Count() {
		out, err = b.Judge(e)
	}
	if err == nil && out == policy.Accept {
		seq := b.next()
		if err = b.insert(e, seq, src); err == nil && e.Kind == nostr.KindDeletion {
			err = b.limitUnused(e, seq)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("add %s: %w", e.ID, err)
	}
	return out, nil
}

func (b *Batch) insert(e *nostr.Event, seq layout.Seq, src layout.Source) error {
	if err := b.dropWaiting(e.ID, released); err != nil {
		return err
	}
	if err := b.dropRecord(e.ID); err != nil {
		return err
	}
	b.back(e)
	b.ops++
	b.counters.Events++
	b.counters.Seqs += seq
	if e.Kind == nip34.KindRepository {
		b.counters.Repositories++
	}
	b.s.scratch = layout.AppendLog(b.s.scratch[:0], src, e)
	if err := b.set(layout.LogKey(seq), b.s.scratch); err != nil {
		return err
	}
	if err := b.index(e, seq); err != nil {
		return err
	}
	b.entries = append(b.entries, layout.Entry{Seq: seq, Event: e, Source: src})
	if err := b.takeSlot(e, seq); err != nil {
		return err
	}
	switch e.Kind {
	case nostr.KindDeletion:
		return b.applyDeletion(e, seq)
	case nostr.KindVanish:
		return b.applyVanish(e)
	}
	return nil
}

// index writes the rows of an event.
func (b *Batch) index(e *nostr.Event, seq layout.Seq) error {
	r := layout.RowOf(e, seq)
	if err := b.set(layout.IDKey(layout.TableID, e.ID), layout.AppendIDRow(nil, e.CreatedAt, r)); err != nil {
		return err
	}
	if r.Expiration != layout.NoExpiration {
		b.expireFrom = min(b.expireFrom, r.Expiration)
		if err := b.set(layout.TimedKey(layout.TableExpiry, r.Expiration, e.ID), nil); err != nil {
			return err
		}
	}
	value := r.Append(make([]byte, 0, layout.MaxRow))
	return layout.FactsOf(e).EachRow(func(p []byte, of layout.Cases) error {
		return b.set(layout.AppendOrder(p, e.CreatedAt, e.ID), of.Append(value))
	})
}
