package store

import (
	"encoding/binary"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// takeSlot makes a replaceable event the newest of its address and removes the version before it.
func (b *Batch) takeSlot(e *nostr.Event, seq Seq) error {
	address := e.Address()
	if address == "" {
		return nil
	}
	h := hashOf(address)
	old, ok, err := b.reader().slot(h)
	if err != nil {
		return err
	}
	s := slot{state: slotLive, time: e.CreatedAt, id: e.ID, seq: seq, first: seq}
	if ok && old.state == slotLive {
		s.first = old.first
	}
	if err := b.set(keyHash(tableSlot, h), s.append(nil)); err != nil {
		return err
	}
	if err := b.supersedeWait(h, e); err != nil {
		return err
	}
	if e.Kind == nip34.KindRepository {
		d := announcementKey(hashOf(e.Tags.D()), s.first)
		if err := b.set(d, binary.BigEndian.AppendUint64(nil, uint64(seq))); err != nil {
			return err
		}
	}
	if !ok || old.id == e.ID {
		return nil
	}
	if old.state == slotWithdrawn {
		return b.unpin(old.id)
	}
	return b.Remove(old.id, ReasonReplaced)
}

// leaveSlot says in the slot of a removed event that its newest version is no longer here. Older ones do not come back.
func (b *Batch) leaveSlot(e *nostr.Event, why Reason) error {
	address := e.Address()
	if address == "" {
		b.left(e)
		return nil
	}
	h := hashOf(address)
	s, ok, err := b.reader().slot(h)
	if err != nil || !ok || s.id != e.ID {
		return err // a newer version has taken it
	}
	if e.Kind == nip34.KindRepository {
		if err := b.delete(announcementKey(hashOf(e.Tags.D()), s.first)); err != nil {
			return err
		}
	}
	b.left(e)
	if why == ReasonVanished { // which keeps older ones away
		return b.delete(keyHash(tableSlot, h))
	}
	s.state, s.seq, s.first = slotGone, 0, 0
	if why == ReasonWithdrawn {
		s.state = slotWithdrawn
	}
	return b.set(keyHash(tableSlot, h), s.append(nil))
}

// unpin lets what is remembered for ever be forgotten in time.
func (b *Batch) unpin(id nostr.ID) error {
	rec, ok, err := b.reader().record(id)
	if err != nil || !ok || rec.due != 0 {
		return err
	}
	rec.why = policy.Superseded
	return b.writeRecord(rec)
}
