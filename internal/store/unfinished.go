package store

import (
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
)

func (b *Batch) setUnfinished(author nostr.PubKey, seq layout.Seq, u layout.Unfinished) error {
	return b.set(layout.UnfinishedKey(author, seq), u.Append(nil))
}

// DeleteAtOnce is how much of what a deletion names is done at once, unless Options say otherwise.
const DeleteAtOnce = 200

// Unfinished is as Batch.Unfinished. Only the goroutine that begins batches may call it, while none is open.
func (s *Store) Unfinished() int { return s.unfinished }

// Unfinished is the number of deletions of which Purge has something left to do.
func (b *Batch) Unfinished() int { return b.unfinished }

// countUnfinished counts them when a store is opened.
func countUnfinished(r pebble.Reader) (n int, err error) {
	err = eachKey(r, layout.TableUnfinished, func(_, _ []byte) error { n++; return nil })
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
		if e == nil || e.ID != u.ID {
			if e, err = b.reader().event(seq); err != nil {
				return 0, err
			}
			b.s.finishing = e
		}
		for max > 0 && u.Next < len(e.Tags) {
			next, cost, err := b.deleteNamed(e, u.Next, 1)
			if err != nil {
				return 0, err
			}
			u.Next = next
			max -= cost
		}
		if u.Next < len(e.Tags) {
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

func (b *Batch) firstUnfinished() (key []byte, u layout.Unfinished, seq layout.Seq, ok bool, err error) {
	it, err := tableIter(b.w, layout.TableUnfinished)
	if err != nil {
		return nil, u, 0, false, err
	}
	defer closeAfter(it.Close, &err)
	if !it.First() {
		return nil, u, 0, false, it.Error()
	}
	key = append([]byte(nil), it.Key()...)
	u, seq, err = layout.ParseUnfinished(key, it.Value())
	return key, u, seq, err == nil, err
}

// dropUnfinished ends what is left of a deletion that leaves.
func (b *Batch) dropUnfinished(e *nostr.Event, seq layout.Seq) error {
	if b.unfinished == 0 {
		return nil
	}
	key := layout.UnfinishedKey(e.PubKey, seq)
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
	prefix := layout.IDKey(layout.TableUnfinished, nostr.ID(e.PubKey))
	it, err := r.r.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: layout.PrefixEnd(prefix)})
	if err != nil {
		return false, err
	}
	defer closeAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		u, _, err := layout.ParseUnfinished(it.Key(), it.Value())
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
func (r reader) namedBy(u layout.Unfinished, e *nostr.Event) (bool, error) {
	named, err := r.hasTag(u, 'e', e.ID.String())
	address := e.Address()
	if named || err != nil || address == "" || e.CreatedAt > u.Time {
		return named, err
	}
	if named, err = r.hasTag(u, 'a', address); named || err != nil || !e.Kind.IsReplaceable() {
		return named, err
	}
	return r.hasTag(u, 'a', strings.TrimSuffix(address, ":")) // as some clients write it
}

func (r reader) hasTag(u layout.Unfinished, name byte, value string) (bool, error) {
	v, ok, err := get(r.r, layout.AppendOrder(layout.TagPrefix(name, layout.HashOf(value)), u.Time, u.ID))
	if err != nil || !ok {
		return false, err
	}
	at, err := layout.ParseRow(v)
	return err == nil && at.Cases.Meets(layout.LowerCase), err
}
