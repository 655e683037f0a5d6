package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// waits is how an event waits, if it does.
func (r reader) waits(id nostr.ID) (layout.WaitRow, bool, error) {
	v, ok, err := get(r.r, layout.IDKey(layout.TableWait, id))
	if err != nil || !ok {
		return layout.WaitRow{}, false, err
	}
	w, err := layout.ParseWaitRow(v)
	return w, err == nil, err
}

// waitSlot is the version that waits under an address.
func (r reader) waitSlot(address layout.Hash) (nostr.Stamp, bool, error) {
	v, ok, err := get(r.r, layout.HashKey(layout.TableWaitSlot, address))
	if err != nil || !ok {
		return nostr.Stamp{}, false, err
	}
	s, err := layout.ParseStamp(v)
	return s, err == nil, err
}

func (r reader) waitingEvent(seq layout.Seq) (*nostr.Event, error) {
	v, ok, err := get(r.r, layout.WaitingKey(seq))
	if err == nil && !ok {
		err = fmt.Errorf("event that waits %d: %w", seq, layout.ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	x, err := layout.AddedEntry(seq, v)
	return x.Event, err
}

// waiting is the event that waits under that id; its Event is nil where it does not.
func (r reader) waiting(id nostr.ID) (layout.Waiting, error) {
	row, ok, err := r.waits(id)
	if err != nil || !ok {
		return layout.Waiting{}, err
	}
	v, ok, err := get(r.r, layout.WaitingKey(row.Seq))
	if err == nil && !ok {
		err = fmt.Errorf("event that waits %d: %w", row.Seq, layout.ErrCorrupt)
	}
	if err != nil {
		return layout.Waiting{}, err
	}
	x, err := layout.AddedEntry(row.Seq, v)
	return layout.Waiting{Event: x.Event, Seq: x.Seq, Wait: layout.Wait{Source: x.Source, Came: row.Came, Until: row.Until, From: row.From}}, err
}

// Waiting is the event that waits under that id, as this batch has it; its Event is nil where it does not.
func (b *Batch) Waiting(id nostr.ID) (layout.Waiting, error) { return b.reader().waiting(id) }

// Waiting is as Batch.Waiting, on this state.
func (v *View) Waiting(id nostr.ID) (layout.Waiting, error) { return v.reader().waiting(id) }

// WaitingAt is the stamp of the version that waits under an address ("kind:pubkey:d"), if there is one.
func (b *Batch) WaitingAt(address string) (nostr.Stamp, bool, error) {
	return b.reader().waitSlot(layout.HashOf(address))
}

// WaitingAnnouncements are the announcements (kind 30617) with that d that wait, those that came first first, at most
// policy.MaxAnnouncements.
func (b *Batch) WaitingAnnouncements(d string) (list []*nostr.Event, err error) {
	err = b.EachWaitingAnnouncement(d, func(seq layout.Seq) error {
		e, err := b.WaitingEvent(seq)
		list = append(list, e)
		return err
	})
	return list, err
}

// EachWaitingAnnouncement calls do with the entries of what WaitingAnnouncements gives. A new version has an entry of its own.
func (b *Batch) EachWaitingAnnouncement(d string, do func(layout.Seq) error) error {
	if b.counters.Waiting == 0 {
		return nil
	}
	n := 0
	return b.reader().eachWait(layout.HashKey(layout.TableWaitRepository, layout.HashOf(d)), func(seq layout.Seq) (bool, error) {
		n++
		return n < policy.MaxAnnouncements, do(seq)
	})
}

// WaitingEvent is the event of an entry that waits.
func (b *Batch) WaitingEvent(seq layout.Seq) (*nostr.Event, error) {
	return b.reader().waitingEvent(seq)
}

// EachWaitOf calls do with each event of an author that waits, those that came first first.
func (b *Batch) EachWaitOf(author nostr.PubKey, do func(layout.Waiting) error) error {
	r := b.reader()
	return r.eachWait(layout.IDKey(layout.TableWaitAuthor, nostr.ID(author)), func(seq layout.Seq) (bool, error) {
		w, err := r.waitingNumber(seq)
		if err == nil {
			err = do(w)
		}
		return true, err
	})
}

// EachWait calls do with each event that waits, those that came first first.
func (v *View) EachWait(do func(layout.Waiting) error) error {
	r := v.reader()
	return r.eachWait([]byte{layout.TableWaiting}, func(seq layout.Seq) (bool, error) {
		w, err := r.waitingNumber(seq)
		if err == nil {
			err = do(w)
		}
		return true, err
	})
}

func (r reader) waitingNumber(seq layout.Seq) (layout.Waiting, error) {
	e, err := r.waitingEvent(seq)
	if err != nil {
		return layout.Waiting{}, err
	}
	w, err := r.waiting(e.ID)
	if err == nil && w.Seq != seq {
		err = fmt.Errorf("event that waits %d: %w", seq, layout.ErrCorrupt)
	}
	return w, err
}

// eachWait calls do with the numbers at the end of the keys that begin so, until it has enough.
func (r reader) eachWait(prefix []byte, do func(layout.Seq) (more bool, err error)) (err error) {
	it, err := r.r.NewIter(&pebble.IterOptions{LowerBound: bytes.Clone(prefix), UpperBound: layout.PrefixEnd(prefix)})
	if err != nil {
		return err
	}
	defer closeAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		if len(it.Key()) != len(prefix)+8 {
			return fmt.Errorf("waits %q: %w", prefix[:1], layout.ErrCorrupt)
		}
		if more, err := do(layout.Seq(binary.BigEndian.Uint64(it.Key()[len(prefix):]))); !more || err != nil {
			return err
		}
	}
	return it.Error()
}
