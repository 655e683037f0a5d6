package store

import (
	"encoding/binary"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Refill fills a new store with what is left of an old one. A repair writes through it: entries under the numbers that they had, by the
// rules of the store but for the clock, and rows as they were. The bounds on the use of a Batch hold for it.
type Refill struct{ b *Batch }

// Refill begins to fill the store. The store gives its own entries numbers above head only. Errors are those of Begin.
func (s *Store) Refill(head layout.Seq) (*Refill, error) {
	b, err := s.Begin()
	if err != nil {
		return nil, err
	}
	b.counters.Head = max(b.counters.Head, head)
	return &Refill{b}, nil
}

// Len returns the number of things done.
func (f *Refill) Len() int { return f.b.ops }

// Size returns how many bytes the commit has so far.
func (f *Refill) Size() int { return f.b.w.Len() }

// Put writes a row as it was.
func (f *Refill) Put(key, value []byte) error {
	f.b.ops++
	return f.b.set(key, value)
}

// Origin says what the entry itself does not tell.
type Origin struct {
	First layout.Seq // of an announcement: the entry by which its address came; 0 where that is not known
	Ages  bool       // of a deletion request: it has removed nothing
	Due   int64      // when it is looked at then
}

// Add stores an entry under its number if the rules have nothing against it, and returns their verdict. Add remembers an event that they
// refuse. Add stores an expired event, which goes later in the usual way, as the clock has no part in a repair.
func (f *Refill) Add(x layout.Entry, o Origin) (policy.Outcome, error) {
	out, err := f.b.outcomeBy(x.Event, index.IsDuplicate, index.IsVanished, index.IsDeleted, index.IsSuperseded)
	switch {
	case err != nil || out == policy.Duplicate:
		return out, err
	case out != policy.Accept:
		return out, f.b.memory.writeRemembered(x.Event, out)
	}
	if err = f.b.insert(x.Event, x.Seq, x.Source); err != nil {
		return out, err
	}
	switch {
	case x.Event.Kind == nostr.KindDeletion && o.Ages:
		err = f.b.unused.setUnused(x.Event.ID, x.Event.PubKey, o.Due)
	case x.Event.Kind == nostr.KindDeletion:
		err = f.b.marks.keepMarks(x.Event)
	case o.First != 0 && o.First < x.Seq:
		err = f.keepOrder(x, o.First)
	}
	return out, err
}

// keepOrder gives an announcement the order that its address had among those with its d.
func (f *Refill) keepOrder(x layout.Entry, first layout.Seq) error {
	h := layout.HashOf(x.Event.Address())
	s, _, err := f.b.reader().Slot(h)
	if err != nil {
		return err
	}
	d := layout.HashOf(x.Event.Tags.D())
	if err := f.b.delete(layout.AnnouncementKey(d, s.First)); err != nil {
		return err
	}
	s.First = first
	if err := f.b.set(layout.AnnouncementKey(d, first), binary.BigEndian.AppendUint64(nil, uint64(x.Seq))); err != nil {
		return err
	}
	return f.b.set(layout.HashKey(layout.TableSlot, h), s.Append(nil))
}

// Wait keeps an event waiting under its number, if the rules have nothing against that; else it does nothing.
func (f *Refill) Wait(w layout.Waiting) error {
	out, err := f.b.outcomeBy(w.Event, index.IsDuplicate, index.IsVanished, index.IsDeleted, index.IsSuperseded, index.IsWaiting, index.IsOutwaited)
	if err != nil || out != policy.Accept {
		return err
	}
	f.b.counters.Head = max(f.b.counters.Head, w.Seq)
	return f.b.waits.insert(w.Event, w.Seq, w.Wait)
}

// Remember writes a record as it was, even over another record, unless the event is stored or waits.
func (f *Refill) Remember(rec layout.Record) error {
	r := f.b.reader()
	_, _, stored, err := r.Lookup(rec.ID)
	if err != nil || stored {
		return err
	}
	if _, waits, err := r.Waits(rec.ID); err != nil || waits {
		return err
	}
	if err := f.b.memory.dropRecord(rec.ID); err != nil {
		return err
	}
	f.b.ops++
	return f.b.memory.putRecord(rec)
}

// Commit makes everything durable, even where nothing but rows was written. Whatever it returns, the Refill has ended.
func (f *Refill) Commit() error {
	f.b.ops++
	_, err := f.b.Commit()
	return err
}

// Discard drops what was not committed.
func (f *Refill) Discard() { f.b.Discard() }
