package store

import (
	"fmt"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Remove takes a stored event out: its body goes, its index rows stay with a flag, and the feed says so. Remove does nothing where the
// event is not stored.
func (b *Batch) Remove(id nostr.ID, why layout.Reason) error {
	r := b.reader()
	_, at, ok, err := r.Lookup(id)
	if err != nil || !ok {
		return err
	}
	e, err := r.Event(at.Seq)
	if err == nil {
		err = b.takeOut(e, at, why)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", id, err)
	}
	return nil
}

func (b *Batch) takeOut(e *nostr.Event, at layout.Row, why layout.Reason) error {
	b.ops++
	b.counters.Events--
	b.counters.Seqs -= at.Seq
	if e.Kind == nip34.KindRepository {
		b.counters.Repositories--
	}
	if err := b.unindex(e, at); err != nil {
		return err
	}
	if err := b.vacateSlot(e, why); err != nil {
		return err
	}
	if err := b.endForce(e, why); err != nil {
		return err
	}
	if e.Kind == nostr.KindDeletion {
		if err := b.deletions.dropUnfinished(e, at.Seq); err != nil {
			return err
		}
		if err := b.unused.dropUnused(e.ID, e.PubKey); err != nil {
			return err
		}
	}
	seq := b.next()
	if err := b.set(layout.RemovedKey(seq), layout.AppendRemoved(nil, e.ID, why)); err != nil {
		return err
	}
	b.dropEntry(at.Seq)
	b.entries = append(b.entries, layout.Entry{Seq: seq, Removed: e.ID, Reason: why})
	return b.memory.writeRemembered(e, why.Outcome())
}

// endForce takes back the force of a request to vanish that leaves, and the marks of a deletion whose author has vanished. A deletion that
// leaves because it expired keeps its marks.
func (b *Batch) endForce(e *nostr.Event, why layout.Reason) error {
	switch {
	case e.Kind == nostr.KindVanish:
		return b.vanishing.undoVanish(e)
	case e.Kind == nostr.KindDeletion && why == layout.ReasonVanished:
		return b.deletions.undoDeletion(e)
	}
	return nil
}

func (b *Batch) unindex(e *nostr.Event, at layout.Row) error {
	if err := b.delete(layout.LogKey(at.Seq)); err != nil {
		return err
	}
	if err := b.delete(layout.IDKey(layout.TableID, e.ID)); err != nil {
		return err
	}
	if at.Expiration != layout.NoExpiration {
		if err := b.delete(layout.TimedKey(layout.TableExpiry, at.Expiration, e.ID)); err != nil {
			return err
		}
	}
	return layout.FactsOf(e).EachRow(func(p []byte, _ layout.Cases) error {
		return b.delete(layout.AppendOrder(p, e.CreatedAt, e.ID))
	})
}
