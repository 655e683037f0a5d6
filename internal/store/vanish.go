package store

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// vanishing is the newest request to vanish of an author (NIP-62) that is stored.
type vanishing struct {
	until int64 // created_at of the request: nothing of the author up to then is here
	id    nostr.ID
}

func (v vanishing) append(dst []byte) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(v.until)), v.id[:]...)
}

func parseVanishing(b []byte) (vanishing, error) {
	if len(b) != 8+32 {
		return vanishing{}, fmt.Errorf("request to vanish: %w", errCorrupt)
	}
	return vanishing{int64(binary.BigEndian.Uint64(b)), nostr.ID(b[8:])}, nil
}

func vanishedKey(author nostr.PubKey) []byte { return keyID(tableVanished, nostr.ID(author)) }

// vanished is the author's newest request, if there is one.
func (r reader) vanished(author nostr.PubKey) (vanishing, bool, error) {
	v, ok, err := r.read(vanishedKey(author))
	if err != nil || !ok {
		return vanishing{}, false, err
	}
	req, err := parseVanishing(v)
	return req, err == nil, err
}

// isVanished looks for a request to vanish that is as new as the event or newer: by its author or, where it is a gift
// wrap, by one of those it is addressed to.
func isVanished(r reader, e *nostr.Event) (policy.Outcome, error) {
	_, gone, err := r.vanishedFor(e)
	if err != nil || !gone {
		return policy.Accept, err
	}
	return policy.Vanished, nil
}

// vanishedFor is whose request makes an event leave or stay away, and whether there is one. A request does not concern
// itself.
func (r reader) vanishedFor(e *nostr.Event) (nostr.PubKey, bool, error) {
	req, ok, err := r.vanished(e.PubKey)
	if err != nil || ok && e.CreatedAt <= req.until && e.ID != req.id {
		return e.PubKey, err == nil, err
	}
	if e.Kind != nostr.KindGiftWrap {
		return nostr.PubKey{}, false, nil
	}
	for _, t := range e.Tags {
		if t.Name() != "p" {
			continue
		}
		p, err := nostr.ParsePubKey(t.Value())
		if err != nil {
			continue
		}
		req, ok, err := r.vanished(p)
		if err != nil || ok && e.CreatedAt <= req.until {
			return p, err == nil, err
		}
	}
	return nostr.PubKey{}, false, nil
}

// applyVanish makes a request count from now on and leaves the work to Purge. Only the newest of an author's requests
// stays: it asks for all that the others did.
func (b *Batch) applyVanish(e *nostr.Event) error {
	if err := b.set(vanishedKey(e.PubKey), vanishing{e.CreatedAt, e.ID}.append(nil)); err != nil {
		return err
	}
	if err := b.vanishWaits(e.PubKey, e.CreatedAt); err != nil {
		return err
	}
	return b.setPurge(newPurge(ReasonVanished, e.PubKey, e.CreatedAt))
}

// undoVanish ends the force of a request, unless a newer one has taken its place.
func (b *Batch) undoVanish(e *nostr.Event) error {
	req, ok, err := b.reader().vanished(e.PubKey)
	if err != nil || !ok || req.id != e.ID {
		return err
	}
	if err := b.delete(vanishedKey(e.PubKey)); err != nil {
		return err
	}
	return b.delete(newPurge(ReasonVanished, e.PubKey, 0).key())
}

// undoDeletion takes back what a deletion left when its author vanishes, except where a newer one says the same.
// Nothing that it could concern is welcome any more, so nothing comes back.
func (b *Batch) undoDeletion(del *nostr.Event) error {
	req, ok, err := b.reader().vanished(del.PubKey)
	if err != nil || !ok {
		return err
	}
	for _, t := range del.Tags {
		switch t.Name() {
		case "e":
			err = b.undeleteID(del.PubKey, t.Value(), req.until)
		case "a":
			err = b.undeleteAddress(del.PubKey, t.Value(), req.until)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Batch) undeleteID(author nostr.PubKey, value string, until int64) error {
	id, err := nostr.ParseID(value)
	if err != nil {
		return nil
	}
	r := b.reader()
	at, ok, err := r.markAt(deletedIDKey(id, author))
	if err != nil || !ok || at.time > until {
		return err
	}
	if err := b.unmark(deletedIDKey(id, author), author); err != nil {
		return err
	}
	rec, ok, err := r.record(id)
	if err != nil || !ok || rec.author != author || rec.address == (hash{}) {
		return err
	}
	return b.vacate(rec.address, until)
}

func (b *Batch) undeleteAddress(author nostr.PubKey, value string, until int64) error {
	h, ok := ownAddress(author, value)
	if !ok {
		return nil
	}
	at, ok, err := b.reader().markAt(keyHash(tableDeletedAddress, h))
	if err != nil || !ok || at.time > until {
		return err
	}
	if err := b.unmark(keyHash(tableDeletedAddress, h), author); err != nil {
		return err
	}
	return b.vacate(h, until)
}

// vacate drops the slot of an address whose newest version is gone and was no newer than until.
func (b *Batch) vacate(address hash, until int64) error {
	s, ok, err := b.reader().slot(address)
	if err != nil || !ok || s.state != slotGone || s.time > until {
		return err
	}
	return b.delete(keyHash(tableSlot, address))
}

// releaseWithdrawn ends the remembering for ever of a withdrawn announcement whose author vanished.
func (b *Batch) releaseWithdrawn(id nostr.ID) error {
	rec, ok, err := b.reader().record(id)
	if err != nil || !ok || rec.why != policy.Withdraw {
		return err
	}
	s, ok, err := b.reader().slot(rec.address)
	if err != nil {
		return err
	}
	if ok && s.state == slotWithdrawn && s.id == id {
		if err := b.delete(keyHash(tableSlot, rec.address)); err != nil {
			return err
		}
	}
	b.ops++
	rec.why = policy.Vanished
	return b.writeRecord(rec)
}
