package store

import (
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// vanishing is the part of a batch that carries out requests to vanish (NIP-62): it removes an author's events piece by piece.
type vanishing struct {
	*draft
	deletions *deletions
	waits     *waits
	memory    *memory
	stored    *Batch
}

// applyVanish puts a request in force and leaves the work to Purge. Only the newest request of an author stays: it asks
// for all that the others asked for.
func (v *vanishing) applyVanish(e *nostr.Event) error {
	if err := v.set(layout.VanishedKey(e.PubKey), layout.Vanishing{Until: e.CreatedAt, ID: e.ID}.Append(nil)); err != nil {
		return err
	}
	if err := v.waits.vanishWaits(e.PubKey, e.CreatedAt); err != nil {
		return err
	}
	return v.setPurge(layout.NewPurge(layout.ReasonVanished, e.PubKey, e.CreatedAt))
}

// undoVanish ends the force of a request, unless a newer one has taken its place.
func (v *vanishing) undoVanish(e *nostr.Event) error {
	req, ok, err := v.reader().Vanished(e.PubKey)
	if err != nil || !ok || req.ID != e.ID {
		return err
	}
	if err := v.delete(layout.VanishedKey(e.PubKey)); err != nil {
		return err
	}
	return v.delete(layout.NewPurge(layout.ReasonVanished, e.PubKey, 0).Key())
}

// undoDeletion takes back what a deletion left when its author vanishes, except where a newer one says the same.
// Nothing that it could concern is welcome any more, so nothing comes back.
func (ds *deletions) undoDeletion(del *nostr.Event) error {
	req, ok, err := ds.reader().Vanished(del.PubKey)
	if err != nil || !ok {
		return err
	}
	for _, t := range del.Tags {
		switch t.Name() {
		case "e":
			err = ds.undeleteID(del.PubKey, t.Value(), req.Until)
		case "a":
			err = ds.undeleteAddress(del.PubKey, t.Value(), req.Until)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (ds *deletions) undeleteID(author nostr.PubKey, value string, until int64) error {
	id, err := nostr.ParseID(value)
	if err != nil {
		return nil
	}
	r := ds.reader()
	at, ok, err := r.MarkAt(layout.DeletedIDKey(id, author))
	if err != nil || !ok || at.Time > until {
		return err
	}
	if err := ds.marks.unmark(layout.DeletedIDKey(id, author), author); err != nil {
		return err
	}
	rec, ok, err := r.Record(id)
	if err != nil || !ok || rec.Author != author || rec.Address == (layout.Hash{}) {
		return err
	}
	return ds.vacate(rec.Address, until)
}

func (ds *deletions) undeleteAddress(author nostr.PubKey, value string, until int64) error {
	h, ok := layout.OwnAddress(author, value)
	if !ok {
		return nil
	}
	at, ok, err := ds.reader().MarkAt(layout.HashKey(layout.TableDeletedAddress, h))
	if err != nil || !ok || at.Time > until {
		return err
	}
	if err := ds.marks.unmark(layout.HashKey(layout.TableDeletedAddress, h), author); err != nil {
		return err
	}
	return ds.vacate(h, until)
}

// vacate drops the slot of an address whose newest version is gone and was no newer than until.
func (ds *deletions) vacate(address layout.Hash, until int64) error {
	s, ok, err := ds.reader().Slot(address)
	if err != nil || !ok || s.State != layout.SlotGone || s.Time > until {
		return err
	}
	return ds.delete(layout.HashKey(layout.TableSlot, address))
}

// releaseWithdrawn ends the remembering for ever of a withdrawn announcement whose author vanished.
func (v *vanishing) releaseWithdrawn(id nostr.ID) error {
	rec, ok, err := v.reader().Record(id)
	if err != nil || !ok || rec.Why != policy.Withdraw {
		return err
	}
	s, ok, err := v.reader().Slot(rec.Address)
	if err != nil {
		return err
	}
	if ok && s.State == layout.SlotWithdrawn && s.ID == id {
		if err := v.delete(layout.HashKey(layout.TableSlot, rec.Address)); err != nil {
			return err
		}
	}
	v.ops++
	rec.Why = policy.Vanished
	return v.memory.writeRecord(rec)
}
