package store

import (
	"encoding/binary"
	"fmt"

	"graspd/internal/nip34"
	"graspd/internal/nostr"
)

// deletable reports whether a deletion has an effect on the kind: not on deletions, nor on requests to vanish.
func deletable(k nostr.Kind) bool { return k != nostr.KindDeletion && k != nostr.KindVanish }

// deletedUntil is the time up to which the versions of an address are deleted.
func (r reader) deletedUntil(address hash) (int64, bool, error) {
	return r.deletion(keyHash(tableDeletedAddress, address))
}

// deletedID is the time of the author's newest deletion that names the id.
func (r reader) deletedID(id nostr.ID, author nostr.PubKey) (int64, bool, error) {
	return r.deletion(deletedIDKey(id, author))
}

func (r reader) deletion(key []byte) (int64, bool, error) {
	v, ok, err := r.read(key)
	if err != nil || !ok {
		return 0, false, err
	}
	if len(v) != 8 {
		return 0, false, fmt.Errorf("deletion: %w", errCorrupt)
	}
	return int64(binary.BigEndian.Uint64(v)), true, nil
}

// applyDeletion performs a deletion (NIP-09) and leaves a mark for each thing it names, for what comes later. Only the
// author's own events are concerned; that is part of the mark of an id and of an address itself.
func (b *Batch) applyDeletion(e *nostr.Event) error {
	for _, t := range e.Tags {
		var err error
		switch t.Name() {
		case "e":
			err = b.deleteID(e, t.Value())
		case "a":
			err = b.deleteAddress(e, t.Value())
		}
		if err != nil {
			return fmt.Errorf("deletion: %w", err)
		}
	}
	return nil
}

func (b *Batch) deleteID(del *nostr.Event, value string) error {
	id, err := nostr.ParseID(value)
	if err != nil {
		return nil // names nothing
	}
	r := b.reader()
	at, ok, err := r.deletedID(id, del.PubKey)
	if err != nil {
		return err
	}
	if !ok || at < del.CreatedAt {
		if err := b.set(deletedIDKey(id, del.PubKey), binary.BigEndian.AppendUint64(nil, uint64(del.CreatedAt))); err != nil {
			return err
		}
	}
	_, row, ok, err := r.lookup(id)
	if err != nil || !ok || !deletable(row.kind) {
		return err
	}
	target, err := r.event(row.seq)
	if err != nil || target.PubKey != del.PubKey {
		return err
	}
	return b.remove(target, row, ReasonDeleted)
}

// ownAddress is the hash of an address, if it is one of this author.
func ownAddress(author nostr.PubKey, value string) (hash, bool) {
	a, err := nip34.ParseAddress(value)
	return hashOf(a.String()), err == nil && a.PubKey == author
}

func (b *Batch) deleteAddress(del *nostr.Event, value string) error {
	h, ok := ownAddress(del.PubKey, value)
	if !ok {
		return nil
	}
	r := b.reader()
	until, ok, err := r.deletedUntil(h)
	if err != nil || ok && until >= del.CreatedAt {
		return err
	}
	if err := b.set(keyHash(tableDeletedAddress, h), binary.BigEndian.AppendUint64(nil, uint64(del.CreatedAt))); err != nil {
		return err
	}
	s, ok, err := r.slot(h)
	if err != nil || !ok || s.state != slotLive || s.time > del.CreatedAt {
		return err
	}
	return b.Remove(s.id, ReasonDeleted)
}
