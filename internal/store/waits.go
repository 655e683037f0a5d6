package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// waitRow is how an event waits, by its id.
type waitRow struct {
	seq         Seq
	came, until int64
	from        string
}

const (
	waitHead = 8 + 8 + 8
	maxFrom  = 255
)

func (w waitRow) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(w.seq))
	dst = binary.BigEndian.AppendUint64(dst, uint64(w.came))
	dst = binary.BigEndian.AppendUint64(dst, uint64(w.until))
	return append(dst, sourceOf(w.from)...)
}

// sourceOf is as much of a source's name as is kept.
func sourceOf(from string) string { return from[:min(len(from), maxFrom)] }

func parseWaitRow(b []byte) (waitRow, error) {
	if len(b) < waitHead || len(b) > waitHead+maxFrom {
		return waitRow{}, fmt.Errorf("wait: %w", errCorrupt)
	}
	n := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[8*i:])) }
	return waitRow{Seq(n(0)), n(1), n(2), string(b[waitHead:])}, nil
}

const stampLen = 8 + 32

func appendStamp(dst []byte, s nostr.Stamp) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(s.CreatedAt)), s.ID[:]...)
}

func parseStamp(b []byte) (nostr.Stamp, error) {
	if len(b) != stampLen {
		return nostr.Stamp{}, fmt.Errorf("version that waits: %w", errCorrupt)
	}
	return nostr.Stamp{CreatedAt: int64(binary.BigEndian.Uint64(b)), ID: nostr.ID(b[8:])}, nil
}

// waits is how an event waits, if it does.
func (r reader) waits(id nostr.ID) (waitRow, bool, error) {
	v, ok, err := get(r.r, keyID(tableWait, id))
	if err != nil || !ok {
		return waitRow{}, false, err
	}
	w, err := parseWaitRow(v)
	return w, err == nil, err
}

// waitSlot is the version that waits under an address.
func (r reader) waitSlot(address hash) (nostr.Stamp, bool, error) {
	v, ok, err := get(r.r, keyHash(tableWaitSlot, address))
	if err != nil || !ok {
		return nostr.Stamp{}, false, err
	}
	s, err := parseStamp(v)
	return s, err == nil, err
}

func (r reader) waitingEvent(seq Seq) (*nostr.Event, error) {
	v, ok, err := get(r.r, waitingKey(seq))
	if err == nil && !ok {
		err = fmt.Errorf("event that waits %d: %w", seq, errCorrupt)
	}
	if err != nil {
		return nil, err
	}
	x, err := addedEntry(seq, v)
	return x.Event, err
}

// waiting is the event that waits under that id; its Event is nil where it does not.
func (r reader) waiting(id nostr.ID) (Waiting, error) {
	row, ok, err := r.waits(id)
	if err != nil || !ok {
		return Waiting{}, err
	}
	v, ok, err := get(r.r, waitingKey(row.seq))
	if err == nil && !ok {
		err = fmt.Errorf("event that waits %d: %w", row.seq, errCorrupt)
	}
	if err != nil {
		return Waiting{}, err
	}
	x, err := addedEntry(row.seq, v)
	return Waiting{x.Event, x.Seq, Wait{x.Source, row.came, row.until, row.from}}, err
}

// Waiting is the event that waits under that id, as this batch has it; its Event is nil where it does not.
func (b *Batch) Waiting(id nostr.ID) (Waiting, error) { return b.reader().waiting(id) }

// Waiting is as Batch.Waiting, on this state.
func (v *View) Waiting(id nostr.ID) (Waiting, error) { return v.reader().waiting(id) }

// WaitingAt is the stamp of the version that waits under an address ("kind:pubkey:d"), if there is one.
func (b *Batch) WaitingAt(address string) (nostr.Stamp, bool, error) {
	return b.reader().waitSlot(hashOf(address))
}

// WaitingAnnouncements are the announcements (kind 30617) with that d that wait, those that came first first, at most
// policy.MaxAnnouncements.
func (b *Batch) WaitingAnnouncements(d string) (list []*nostr.Event, err error) {
	err = b.EachWaitingAnnouncement(d, func(seq Seq) error {
		e, err := b.WaitingEvent(seq)
		list = append(list, e)
		return err
	})
	return list, err
}

// EachWaitingAnnouncement calls do with the entries of what WaitingAnnouncements gives. A new version has an entry of its own.
func (b *Batch) EachWaitingAnnouncement(d string, do func(Seq) error) error {
	if b.counters.waiting == 0 {
		return nil
	}
	n := 0
	return b.reader().eachWait(keyHash(tableWaitRepository, hashOf(d)), func(seq Seq) (bool, error) {
		n++
		return n < policy.MaxAnnouncements, do(seq)
	})
}

// WaitingEvent is the event of an entry that waits.
func (b *Batch) WaitingEvent(seq Seq) (*nostr.Event, error) { return b.reader().waitingEvent(seq) }

// EachWaitOf calls do with each event of an author that waits, those that came first first.
func (b *Batch) EachWaitOf(author nostr.PubKey, do func(Waiting) error) error {
	r := b.reader()
	return r.eachWait(keyID(tableWaitAuthor, nostr.ID(author)), func(seq Seq) (bool, error) {
		w, err := r.waitingNumber(seq)
		if err == nil {
			err = do(w)
		}
		return true, err
	})
}

// EachWait calls do with each event that waits, those that came first first.
func (v *View) EachWait(do func(Waiting) error) error {
	r := v.reader()
	return r.eachWait([]byte{tableWaiting}, func(seq Seq) (bool, error) {
		w, err := r.waitingNumber(seq)
		if err == nil {
			err = do(w)
		}
		return true, err
	})
}

func (r reader) waitingNumber(seq Seq) (Waiting, error) {
	e, err := r.waitingEvent(seq)
	if err != nil {
		return Waiting{}, err
	}
	w, err := r.waiting(e.ID)
	if err == nil && w.Seq != seq {
		err = fmt.Errorf("event that waits %d: %w", seq, errCorrupt)
	}
	return w, err
}

// eachWait calls do with the numbers at the end of the keys that begin so, until it has enough.
func (r reader) eachWait(prefix []byte, do func(Seq) (more bool, err error)) (err error) {
	it, err := r.r.NewIter(&pebble.IterOptions{LowerBound: bytes.Clone(prefix), UpperBound: prefixEnd(prefix)})
	if err != nil {
		return err
	}
	defer closeAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		if len(it.Key()) != len(prefix)+8 {
			return fmt.Errorf("waits %q: %w", prefix[:1], errCorrupt)
		}
		if more, err := do(Seq(binary.BigEndian.Uint64(it.Key()[len(prefix):]))); !more || err != nil {
			return err
		}
	}
	return it.Error()
}
