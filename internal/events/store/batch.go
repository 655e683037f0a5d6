package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Batch is the one open batch. One goroutine has it, the ingest writer. The methods of the Batch see at once what was put into it,
// everybody else once Commit has returned. After an error the caller discards the batch.
//
// A batch is made of parts, which write one draft. Each part owns its fields, and calls others by the names of their fields. Batch itself
// has what is served: events that come, the slots of their addresses, and events that leave.
type Batch struct {
	*draft
	lookups
	*waits
	*memory
	*marks
	*deletions
	*unused
	*vanishing
	*departed

	// The last event that Outcome accepted, and how many writes the batch had then: while it has no more, Add need not ask it again.
	accepted   *nostr.Event
	acceptedAt uint32

	expireFrom int64 // nothing in the expiry table is due before this; the store's own once committed

	done   bool // it is durable
	closed bool
}

// newBatch puts the parts together on a draft.
func newBatch(d *draft) *Batch {
	s := d.s
	b := &Batch{draft: d, lookups: lookups{d}, departed: new(departed), expireFrom: s.expireFrom}
	b.marks = &marks{draft: d}
	b.waits = &waits{draft: d, waitFrom: s.waitFrom}
	b.memory = &memory{draft: d, waits: b.waits, marks: b.marks, queueFrom: s.queueFrom}
	b.waits.memory = b.memory
	b.deletions = &deletions{draft: d, marks: b.marks, waits: b.waits, memory: b.memory, stored: b}
	b.unused = &unused{draft: d, marks: b.marks, deletions: b.deletions, stored: b, ageFrom: s.ageFrom}
	b.vanishing = &vanishing{draft: d, deletions: b.deletions, waits: b.waits, memory: b.memory, stored: b}
	return b
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

// Begin opens the batch. Begin fails with ErrBusy while another one is open, with ErrFull while the disk is at its floor, and with
// ErrFailed after a failure of the disk.
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
	return newBatch(&draft{
		s: s, w: s.engine.db.NewIndexedBatchWithSize(s.usual), epoch: s.cur.epoch, counters: s.cur.counters, unfinished: s.unfinished,
	}), nil
}

// take makes its caller the only writer.
func (s *Store) take() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.opt.ReadOnly:
		return ErrReadOnly
	case s.engine.failed != nil:
		return s.engine.failed
	case s.replica.bar() != nil:
		return s.replica.bar()
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

// Update commits what do writes into a batch, or nothing where do fails.
func Update(s *Store, do func(*Batch) error) error {
	b, err := s.Begin()
	if err != nil {
		return err
	}
	defer b.Discard()
	if err := do(b); err != nil {
		return err
	}
	_, err = b.Commit()
	return err
}

// Commit makes the batch durable and then visible, and returns the number of its last entry, or of the last one before it where it has
// none. With ErrFull it has written nothing. After any other error nothing of the batch is visible; where the error wraps ErrFailed,
// nothing can be written any more. In all cases the batch is closed.
func (b *Batch) Commit() (layout.Seq, error) {
	defer b.Discard()
	if b.closed {
		return 0, ErrClosed
	}
	if b.ops == 0 {
		return b.s.Head(), nil
	}
	if err := b.memory.forgetDue(); err != nil && !errors.Is(err, layout.ErrCorrupt) { // a damaged record must not hold up events
		return 0, fmt.Errorf("commit: %w", err)
	}
	if err := b.marks.write(); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	if err := b.w.Set(layout.MetaKey(layout.MetaCounters), b.counters.Append(nil), nil); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	if err := b.s.roomFor(2 * b.w.Len()); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	if err := b.s.commit(b.s.engine, b.w, b.told); err != nil {
		if b.s.replica == nil {
			b.s.engine.lost = slices.Clone(b.w.Repr())
		}
		return 0, fmt.Errorf("commit: %w", err)
	}
	// The commit point: from here on the batch survives a power cut, and readers may see it.
	b.done = true
	b.s.usual = roomFor(b.w.Len())
	b.s.queueFrom, b.s.expireFrom, b.s.waitFrom, b.s.unfinished = b.memory.queueFrom, b.expireFrom, b.waits.waitFrom, b.unfinished
	b.s.ageFrom = b.unused.ageFrom
	b.s.publish(b.counters, b.epoch, b.entries, b.told)
	return b.counters.Head, nil
}

// Discard drops the batch unless it was committed. The caller may call it more than once.
func (b *Batch) Discard() {
	if b.closed {
		return
	}
	b.closed = true
	if !b.done {
		b.s.memo = index.Memo{}
		b.waits.dropTally()
	}
	b.w.Close()
	b.s.giveBack()
}

// Add stores the event if the store's rules have nothing against it, and returns their verdict: Accept, or what Outcome says. The caller has
// decided before that the event is genuine and wanted. Add ends the wait of an event that waits. Older versions go, and so do the events
// that a deletion names; a deletion that removes nothing may be gone again when Add returns. Purge carries out a request to vanish. From
// here on readers share the event, and nobody changes it.
func (b *Batch) Add(e *nostr.Event, src layout.Source) (policy.Outcome, error) {
	out, err := policy.Accept, error(nil)
	if b.accepted != e || b.acceptedAt != b.w.Count() {
		out, err = b.Outcome(e)
	}
	if err == nil && out == policy.Accept {
		seq := b.next()
		if err = b.insert(e, seq, src); err == nil && e.Kind == nostr.KindDeletion {
			err = b.unused.limitUnused(e, seq)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("add %s: %w", e.ID, err)
	}
	return out, nil
}

func (b *Batch) insert(e *nostr.Event, seq layout.Seq, src layout.Source) error {
	if err := b.waits.dropWaiting(e.ID, released); err != nil {
		return err
	}
	if err := b.memory.dropRecord(e.ID); err != nil {
		return err
	}
	b.departed.back(e)
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
		return b.deletions.applyDeletion(e, seq)
	case nostr.KindVanish:
		return b.vanishing.applyVanish(e)
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
