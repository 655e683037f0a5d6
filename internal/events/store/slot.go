package store

import (
	"encoding/binary"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// takeSlot makes a replaceable event the newest of its address and removes the version before it.
func (b *Batch) takeSlot(e *nostr.Event, seq layout.Seq) error {
	address := e.Address()
	if address == "" {
		return nil
	}
	h := layout.HashOf(address)
	old, ok, err := b.reader().Slot(h)
	if err != nil {
		return err
	}
	s := layout.Slot{State: layout.SlotLive, Time: e.CreatedAt, ID: e.ID, Seq: seq, First: seq}
	if ok && old.State == layout.SlotLive {
		s.First = old.First
	}
	if err := b.set(layout.HashKey(layout.TableSlot, h), s.Append(nil)); err != nil {
		return err
	}
	if err := b.waits.supersedeWait(h, e); err != nil {
		return err
	}
	if e.Kind == nip34.KindRepository {
		d := layout.AnnouncementKey(layout.HashOf(e.Tags.D()), s.First)
		if err := b.set(d, binary.BigEndian.AppendUint64(nil, uint64(seq))); err != nil {
			return err
		}
	}
	if !ok || old.ID == e.ID {
		return nil
	}
	if old.State == layout.SlotWithdrawn {
		return b.memory.unpin(old.ID)
	}
	return b.Remove(old.ID, layout.ReasonReplaced)
}

// vacateSlot notes in the slot of a removed event that the newest version is no longer here. Older versions do not come back.
func (b *Batch) vacateSlot(e *nostr.Event, why layout.Reason) error {
	address := e.Address()
	if address == "" {
		b.departed.left(e)
		return nil
	}
	h := layout.HashOf(address)
	s, ok, err := b.reader().Slot(h)
	if err != nil || !ok || s.ID != e.ID {
		return err // a newer version has taken it
	}
	if e.Kind == nip34.KindRepository {
		if err := b.delete(layout.AnnouncementKey(layout.HashOf(e.Tags.D()), s.First)); err != nil {
			return err
		}
	}
	b.departed.left(e)
	if why == layout.ReasonVanished { // which keeps older ones away
		return b.delete(layout.HashKey(layout.TableSlot, h))
	}
	s.State, s.Seq, s.First = layout.SlotGone, 0, 0
	if why == layout.ReasonWithdrawn {
		s.State = layout.SlotWithdrawn
	}
	return b.set(layout.HashKey(layout.TableSlot, h), s.Append(nil))
}

// unpin makes a record that is kept for ever an ordinary record, of Superseded, which is forgotten in time.
func (m *memory) unpin(id nostr.ID) error {
	rec, ok, err := m.reader().Record(id)
	if err != nil || !ok || rec.Due != 0 {
		return err
	}
	rec.Why = policy.Superseded
	return m.writeRecord(rec)
}
