package index

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Waits returns how an event waits, if it does.
func (r Reader) Waits(id nostr.ID) (layout.WaitRow, bool, error) {
	v, ok, err := Get(r.From, layout.IDKey(layout.TableWait, id))
	if err != nil || !ok {
		return layout.WaitRow{}, false, err
	}
	w, err := layout.ParseWaitRow(v)
	return w, err == nil, err
}

// WaitSlot returns the version that waits under an address.
func (r Reader) WaitSlot(address layout.Hash) (nostr.Stamp, bool, error) {
	v, ok, err := Get(r.From, layout.HashKey(layout.TableWaitSlot, address))
	if err != nil || !ok {
		return nostr.Stamp{}, false, err
	}
	s, err := layout.ParseStamp(v)
	return s, err == nil, err
}

// WaitingEvent returns the event of an entry that waits.
func (r Reader) WaitingEvent(seq layout.Seq) (*nostr.Event, error) {
	v, ok, err := Get(r.From, layout.WaitingKey(seq))
	if err == nil && !ok {
		err = fmt.Errorf("event that waits %d: %w", seq, layout.ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	x, err := layout.AddedEntry(seq, v)
	return x.Event, err
}

// Waiting returns the event with that id and how it waits; its Event is nil where it does not wait.
func (r Reader) Waiting(id nostr.ID) (layout.Waiting, error) {
	row, ok, err := r.Waits(id)
	if err != nil || !ok {
		return layout.Waiting{}, err
	}
	v, ok, err := Get(r.From, layout.WaitingKey(row.Seq))
	if err == nil && !ok {
		err = fmt.Errorf("event that waits %d: %w", row.Seq, layout.ErrCorrupt)
	}
	if err != nil {
		return layout.Waiting{}, err
	}
	x, err := layout.AddedEntry(row.Seq, v)
	return layout.Waiting{Event: x.Event, Seq: x.Seq, Wait: layout.Wait{Source: x.Source, Came: row.Came, Until: row.Until, From: row.From}}, err
}

// WaitingNumber returns the event of an entry that waits, and how it waits.
func (r Reader) WaitingNumber(seq layout.Seq) (layout.Waiting, error) {
	e, err := r.WaitingEvent(seq)
	if err != nil {
		return layout.Waiting{}, err
	}
	w, err := r.Waiting(e.ID)
	if err == nil && w.Seq != seq {
		err = fmt.Errorf("event that waits %d: %w", seq, layout.ErrCorrupt)
	}
	return w, err
}

// EachWait calls do with the numbers at the end of the keys that begin with prefix, until do has enough.
func (r Reader) EachWait(prefix []byte, do func(layout.Seq) (more bool, err error)) (err error) {
	it, err := r.From.NewIter(&pebble.IterOptions{LowerBound: bytes.Clone(prefix), UpperBound: layout.PrefixEnd(prefix)})
	if err != nil {
		return err
	}
	defer CloseAfter(it.Close, &err)
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
