package store

import (
	"fmt"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// Remove takes a stored event out: its body goes, its rows become flagged, and the feed says so. It does nothing where
// the event is not stored.
func (b *Batch) Remove(id nostr.ID, why Reason) error {
	r := b.reader()
	_, at, ok, err := r.lookup(id)
	if err != nil || !ok {
		return err
	}
	e, err := r.event(at.seq)
	if err == nil {
		err = b.remove(e, at, why)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", id, err)
	}
	return nil
}

func (b *Batch) remove(e *nostr.Event, at row, why Reason) error {
	b.ops++
	b.counters.events--
	b.counters.seqs -= at.seq
	if e.Kind == nip34.KindRepository {
		b.counters.repositories--
	}
	if err := b.unindex(e, at); err != nil {
		return err
	}
	if err := b.leaveSlot(e, why); err != nil {
		return err
	}
	if err := b.endForce(e, why); err != nil {
		return err
	}
	if e.Kind == nostr.KindDeletion {
		if err := b.dropUnfinished(e, at.seq); err != nil {
			return err
		}
		if err := b.dropUnused(e.ID, e.PubKey); err != nil {
			return err
		}
	}
	seq := b.next()
	if err := b.set(removedKey(seq), appendRemoved(nil, e.ID, why)); err != nil {
		return err
	}
	b.dropEntry(at.seq)
	b.entries = append(b.entries, Entry{Seq: seq, Removed: e.ID, Reason: why})
	return b.remember(e, why.outcome())
}

// endForce takes back what a deletion or a request to vanish that leaves has kept away. Deletions leave otherwise only
// when they expire, and what they concerned does not come back then.
func (b *Batch) endForce(e *nostr.Event, why Reason) error {
	switch {
	case e.Kind == nostr.KindVanish:
		return b.undoVanish(e)
	case e.Kind == nostr.KindDeletion && why == ReasonVanished:
		return b.undoDeletion(e)
	}
	return nil
}

// dropEntry takes an event that came and went in this batch out of its feed.
func (b *Batch) dropEntry(seq Seq) {
	for i := len(b.entries) - 1; i >= 0 && b.entries[i].Seq >= seq; i-- {
		if b.entries[i].Seq == seq {
			b.entries = append(b.entries[:i], b.entries[i+1:]...)
			return
		}
	}
}

func (b *Batch) unindex(e *nostr.Event, at row) error {
	if err := b.delete(logKey(at.seq)); err != nil {
		return err
	}
	if err := b.delete(keyID(tableID, e.ID)); err != nil {
		return err
	}
	if at.expiration != noExpiration {
		if err := b.delete(timedKey(tableExpiry, at.expiration, e.ID)); err != nil {
			return err
		}
	}
	return factsOf(e).eachRow(func(p []byte, _ cases) error {
		return b.delete(appendOrder(p, e.CreatedAt, e.ID))
	})
}
