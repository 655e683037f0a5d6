package store

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/nostr"
)

// unfinished is a deletion of which not all is done that it names. It is on disk with the deletion, so that a restart goes on with
// it. Until it is done nothing that it names is taken: its own index rows say what that is.
type unfinished struct {
	next int   // the first tag that is left
	time int64 // created_at of the deletion
	id   nostr.ID
}

const unfinishedLen = 4 + 8 + 32

func unfinishedKey(author nostr.PubKey, seq Seq) []byte {
	return binary.BigEndian.AppendUint64(keyID(tableUnfinished, nostr.ID(author)), uint64(seq))
}

func (u unfinished) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(u.next))
	dst = binary.BigEndian.AppendUint64(dst, uint64(u.time))
	return append(dst, u.id[:]...)
}

func (b *Batch) setUnfinished(author nostr.PubKey, seq Seq, u unfinished) error {
	return b.set(unfinishedKey(author, seq), u.append(nil))
}

func parseUnfinished(key, v []byte) (u unfinished, seq Seq, err error) {
	if len(key) != 1+32+8 || len(v) != unfinishedLen {
		return u, 0, fmt.Errorf("unfinished deletion: %w", errCorrupt)
	}
	u = unfinished{int(binary.BigEndian.Uint32(v)), int64(binary.BigEndian.Uint64(v[4:])), nostr.ID(v[12:])}
	return u, Seq(binary.BigEndian.Uint64(key[33:])), nil
}

// DeleteAtOnce is how much of what a deletion names is done at once, unless Options say otherwise.
const DeleteAtOnce = 200

// Unfinished is as Batch.Unfinished. Only the goroutine that begins batches may call it, while none is open.
func (s *Store) Unfinished() int { return s.unfinished }

// Unfinished is the number of deletions of which Purge has something left to do.
func (b *Batch) Unfinished() int { return b.unfinished }

// countUnfinished counts them when a store is opened.
func countUnfinished(r pebble.Reader) (n int, err error) {
	err = eachKey(r, tableUnfinished, func(_, _ []byte) error { n++; return nil })
	return n, err
}

// finishDeletions goes on with unfinished deletions as far as max rows go, and says what is left of them.
func (b *Batch) finishDeletions(max int) (left int, err error) {
	for max > 0 && b.unfinished > 0 {
		key, u, seq, ok, err := b.firstUnfinished()
		if err != nil {
			return 0, err
		}
		if !ok {
			b.unfinished = 0
			break
		}
		b.ops++
		e := b.s.finishing // an event of thousands of tags is not parsed anew at each step
		if e == nil || e.ID != u.id {
			if e, err = b.reader().event(seq); err != nil {
				return 0, err
			}
			b.s.finishing = e
		}
		for max > 0 && u.next < len(e.Tags) {
			next, cost, err := b.deleteNamed(e, u.next, 1)
			if err != nil {
				return 0, err
			}
			u.next = next
			max -= cost
		}
		if u.next < len(e.Tags) {
			return 0, b.setUnfinished(e.PubKey, seq, u)
		}
		if err := b.delete(key); err != nil {
			return 0, err
		}
		b.s.finishing = nil
		b.unfinished--
		max--
	}
	return max, nil
}

func (b *Batch) firstUnfinished() (key []byte, u unfinished, seq Seq, ok bool, err error) {
	it, err := tableIter(b.w, tableUnfinished)
	if err != nil {
		return nil, u, 0, false, err
	}
	defer closeAfter(it.Close, &err)
	if !it.First() {
		return nil, u, 0, false, it.Error()
	}
	key = append([]byte(nil), it.Key()...)
	u, seq, err = parseUnfinished(key, it.Value())
	return key, u, seq, err == nil, err
}

// dropUnfinished ends what is left of a deletion that leaves.
func (b *Batch) dropUnfinished(e *nostr.Event, seq Seq) error {
	if b.unfinished == 0 {
		return nil
	}
	key := unfinishedKey(e.PubKey, seq)
	_, ok, err := get(b.w, key)
	if err != nil || !ok {
		return err
	}
	b.unfinished--
	return b.delete(key)
}

// isBeingDeleted reports whether an unfinished deletion of the author names the event, or is as new as it and names its address.
func (r reader) isBeingDeleted(e *nostr.Event) (_ bool, err error) {
	if r.unfinished == 0 {
		return false, nil
	}
	prefix := keyID(tableUnfinished, nostr.ID(e.PubKey))
	it, err := r.r.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return false, err
	}
	defer closeAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		u, _, err := parseUnfinished(it.Key(), it.Value())
		if err != nil {
			return false, err
		}
		if named, err := r.namedBy(u, e); named || err != nil {
			return named, err
		}
	}
	return false, it.Error()
}

// namedBy asks the index rows of the deletion.
func (r reader) namedBy(u unfinished, e *nostr.Event) (bool, error) {
	named, err := r.hasTag(u, 'e', e.ID.String())
	address := e.Address()
	if named || err != nil || address == "" || e.CreatedAt > u.time {
		return named, err
	}
	if named, err = r.hasTag(u, 'a', address); named || err != nil || !e.Kind.IsReplaceable() {
		return named, err
	}
	return r.hasTag(u, 'a', strings.TrimSuffix(address, ":")) // as some clients write it
}

func (r reader) hasTag(u unfinished, name byte, value string) (bool, error) {
	v, ok, err := get(r.r, appendOrder(tagPrefix(name, hashOf(value)), u.time, u.id))
	if err != nil || !ok {
		return false, err
	}
	at, err := parseRow(v)
	return err == nil && at.cases.meets(lowerCase), err
}
