package store

import (
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func (ds *deletions) setUnfinished(author nostr.PubKey, seq layout.Seq, u layout.Unfinished) error {
	return ds.set(layout.UnfinishedKey(author, seq), u.Append(nil))
}

// DeleteAtOnce is how many tags of a deletion Add carries out, unless Options say otherwise. Purge carries out the rest.
const DeleteAtOnce = 200

// Unfinished returns the same as Batch.Unfinished. Only the goroutine that begins batches may call it, while none is open.
func (s *Store) Unfinished() int { return s.unfinished }

// Unfinished returns the number of deletions of which Purge has something left to do.
func (ds *deletions) Unfinished() int { return ds.unfinished }

// finishDeletions goes on with unfinished deletions, for max rows, and returns how many of the max are left.
func (ds *deletions) finishDeletions(max int) (left int, err error) {
	for max > 0 && ds.unfinished > 0 {
		key, u, seq, ok, err := ds.firstUnfinished()
		if err != nil {
			return 0, err
		}
		if !ok {
			ds.unfinished = 0
			break
		}
		ds.ops++
		e := ds.s.finishing // an event of thousands of tags is not parsed anew at each step
		if e == nil || e.ID != u.ID {
			if e, err = ds.reader().Event(seq); err != nil {
				return 0, err
			}
			ds.s.finishing = e
		}
		for max > 0 && u.Next < len(e.Tags) {
			next, cost, err := ds.deleteNamed(e, u.Next, 1)
			if err != nil {
				return 0, err
			}
			u.Next = next
			max -= cost
		}
		if u.Next < len(e.Tags) {
			return 0, ds.setUnfinished(e.PubKey, seq, u)
		}
		if err := ds.delete(key); err != nil {
			return 0, err
		}
		ds.s.finishing = nil
		ds.unfinished--
		max--
	}
	return max, nil
}

func (ds *deletions) firstUnfinished() (key []byte, u layout.Unfinished, seq layout.Seq, ok bool, err error) {
	it, err := index.TableIter(ds.w, layout.TableUnfinished)
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

// dropUnfinished forgets the unfinished rest of a deletion that leaves.
func (ds *deletions) dropUnfinished(e *nostr.Event, seq layout.Seq) error {
	if ds.unfinished == 0 {
		return nil
	}
	key := layout.UnfinishedKey(e.PubKey, seq)
	_, ok, err := index.Get(ds.w, key)
	if err != nil || !ok {
		return err
	}
	ds.unfinished--
	return ds.delete(key)
}
