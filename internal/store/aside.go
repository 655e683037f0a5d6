package store

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// What is put aside is kept out of sight: it is not stored, nothing serves it, and its id is remembered as refused. It stands
// under the number of a case, which means something only to who puts it there, and under the number of its entry in the log.

func asideKey(of uint64, s Seq) []byte {
	return binary.BigEndian.AppendUint64(keyU64(tableAside, of), uint64(s))
}

// parseAsideKey reads the case and the entry's number.
func parseAsideKey(k []byte) (of uint64, s Seq, ok bool) {
	if len(k) != 1+8+8 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(k[1:]), Seq(binary.BigEndian.Uint64(k[9:])), true
}

// PutAside takes a stored event out, as Remove does, and keeps it under that case. It gives the event; nil is for one
// that is not stored.
func (b *Batch) PutAside(id nostr.ID, of uint64) (e *nostr.Event, err error) {
	r := b.reader()
	_, at, ok, err := r.lookup(id)
	if err != nil || !ok {
		return nil, err
	}
	value, ok, err := get(b.w, logKey(at.seq))
	if err == nil && !ok {
		err = fmt.Errorf("entry %d is indexed and not there: %w", at.seq, errCorrupt)
	}
	if err == nil {
		e, err = r.event(at.seq)
	}
	if err == nil {
		err = b.set(asideKey(of, at.seq), value)
	}
	if err == nil {
		err = b.remove(e, at, ReasonBarred)
	}
	if err != nil {
		return nil, fmt.Errorf("put %s aside: %w", id, err)
	}
	return e, nil
}

// Aside are up to max events that are kept under a case, behind the entry after, in the order in which they had been stored.
func (v *View) Aside(of uint64, after Seq, max int) ([]Entry, error) {
	return v.reader().aside(of, after, max)
}

func (r reader) aside(of uint64, after Seq, max int) (list []Entry, err error) {
	it, err := r.r.NewIter(&pebble.IterOptions{LowerBound: asideKey(of, after+1), UpperBound: asideKey(of+1, 0)})
	if err != nil {
		return nil, fmt.Errorf("what is put aside: %w", err)
	}
	defer closeAfter(it.Close, &err)
	for it.First(); it.Valid() && len(list) < max; it.Next() {
		_, seq, ok := parseAsideKey(it.Key())
		if !ok {
			return nil, fmt.Errorf("what is put aside: %w", errCorrupt)
		}
		x, err := addedEntry(seq, it.Value())
		if err != nil {
			return nil, fmt.Errorf("what is put aside: %w", err)
		}
		list = append(list, x)
	}
	return list, it.Error()
}

// DropAside forgets what was kept of an entry under a case. It does nothing where that is nothing.
func (b *Batch) DropAside(of uint64, s Seq) error {
	b.ops++
	return b.delete(asideKey(of, s))
}

// EndWaitsOf ends the waits of all events of an author for git data, and remembers them as refused.
func (b *Batch) EndWaitsOf(author nostr.PubKey) error {
	var ids []nostr.ID
	err := b.EachWaitOf(author, func(w Waiting) error { ids = append(ids, w.Event.ID); return nil })
	for _, id := range ids {
		if err == nil {
			err = b.EndWait(id, policy.Refuse)
		}
	}
	return err
}
