package store

import (
	"github.com/graspd/graspd/internal/index"
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
			if e, err = b.reader().Event(seq); err != nil {
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
	it, err := index.TableIter(b.w, layout.TableUnfinished)
	if err != nil {
		return nil, u, 0, false, err
	}
	defer index.CloseAfter(it.Close, &err)
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
	_, ok, err := index.Get(b.w, key)
	if err != nil || !ok {
		return err
	}
	b.unfinished--
	return b.delete(key)
}
