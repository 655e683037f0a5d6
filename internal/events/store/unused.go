package store

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const daySeconds = 24 * 3600

// MaxUnused is how many unused deletion requests of one author the store serves, and how many it remembers for UnusedGate, unless Options
// say otherwise. A request beyond MaxUnused is not served, and remembered for a week.
const MaxUnused = 1000

// unused is the part of a batch that has the deletions which have removed nothing: when each is looked at again, and whether it stays.
type unused struct {
	*draft
	marks     *marks
	deletions *deletions
	stored    *Batch

	ageFrom int64 // no unused deletion is due before this; the store's own once committed
}

// setUnused puts a request into the order in which unused ones are looked at, due at that unix time. The request does not stand there yet.
func (un *unused) setUnused(id nostr.ID, author nostr.PubKey, due int64) error {
	m, err := un.marks.marksOf(author)
	if err != nil {
		return err
	}
	m.Unused++
	un.marks.marked[author] = m
	due = max(due, 0)
	un.ageFrom = min(un.ageFrom, due)
	if err := un.set(layout.IDKey(layout.TableUnusedDue, id), binary.BigEndian.AppendUint64(nil, uint64(due))); err != nil {
		return err
	}
	return un.set(layout.TimedKey(layout.TableUnused, due, id), author[:])
}

// dropUnused takes a request out of the order in which unused ones are looked at, if it stands there.
func (un *unused) dropUnused(id nostr.ID, author nostr.PubKey) error {
	v, ok, err := index.Get(un.w, layout.IDKey(layout.TableUnusedDue, id))
	if err != nil || !ok {
		return err
	}
	if len(v) != 8 {
		return fmt.Errorf("unused deletion: %w", layout.ErrCorrupt)
	}
	due := int64(binary.BigEndian.Uint64(v))
	m, err := un.marks.marksOf(author)
	if err != nil {
		return err
	}
	m.Unused = uint32(max(0, int64(m.Unused)-1))
	un.marks.marked[author] = m
	if err := un.delete(layout.IDKey(layout.TableUnusedDue, id)); err != nil {
		return err
	}
	return un.delete(layout.TimedKey(layout.TableUnused, due, id))
}

// limitUnused lets a deletion that has removed nothing go in time: at once where it is too old or its author has many. For an
// unfinished deletion that is decided when it is finished.
func (un *unused) limitUnused(e *nostr.Event, seq layout.Seq) error {
	now := un.reader().Now
	_, unfinished, err := index.Get(un.w, layout.UnfinishedKey(e.PubKey, seq))
	switch {
	case err != nil:
		return err
	case unfinished:
		return un.setUnused(e.ID, e.PubKey, max(layout.AgesAt(e.CreatedAt, now), now+daySeconds))
	case un.deletions.used:
		return un.marks.keepMarks(e)
	}
	m, err := un.marks.marksOf(e.PubKey)
	if err != nil {
		return err
	}
	due := layout.AgesAt(e.CreatedAt, now)
	if due <= now || int64(m.Unused) >= un.s.opt.MaxUnused {
		return un.stored.Remove(e.ID, layout.ReasonUnused)
	}
	return un.setUnused(e.ID, e.PubKey, due)
}

// AgeDue looks at up to max unused deletion requests whose time is over by now, the longest over first. AgeDue removes those that have kept
// nothing away since. AgeDue returns how many it has looked at, and when the next one is due: at once where there are more, the zero time
// where there are none.
func (un *unused) AgeDue(now time.Time, max int) (next time.Time, n int, err error) {
	due, from, err := un.unusedDue(now.Unix(), max)
	if err != nil {
		return next, 0, fmt.Errorf("unused deletions: %w", err)
	}
	un.ageFrom = from
	if un.ops == 0 && len(due) == 0 { // it holds for the store, whatever becomes of the batch
		un.s.ageFrom = from
	}
	for _, u := range due {
		if err := un.age(u, now.Unix()); err != nil {
			return next, n, fmt.Errorf("unused deletion %s: %w", u.ID, err)
		}
		n++
	}
	if un.ageFrom != math.MaxInt64 {
		next = time.Unix(un.ageFrom, 0)
	}
	return next, n, nil
}

func (un *unused) unusedDue(until int64, max int) (due []layout.UnusedRow, next int64, err error) {
	it, err := un.w.NewIter(&pebble.IterOptions{LowerBound: layout.TimedKey(layout.TableUnused, un.ageFrom, nostr.ID{}), UpperBound: []byte{layout.TableUnused + 1}})
	if err != nil {
		return nil, un.ageFrom, err
	}
	defer index.CloseAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		u, err := layout.ParseUnused(it.Key(), it.Value())
		if err != nil {
			return nil, un.ageFrom, err
		}
		if u.Due > until || len(due) == max {
			return due, u.Due, nil
		}
		due = append(due, u)
	}
	return due, math.MaxInt64, it.Error()
}

func (un *unused) age(u layout.UnusedRow, now int64) error {
	un.ops++
	if err := un.dropUnused(u.ID, u.Author); err != nil {
		return err
	}
	r := un.reader()
	_, at, ok, err := r.Lookup(u.ID)
	if err == nil && !ok {
		err = layout.ErrCorrupt
	}
	if err != nil {
		return err
	}
	if _, unfinished, err := index.Get(un.w, layout.UnfinishedKey(u.Author, at.Seq)); err != nil {
		return err
	} else if unfinished {
		return un.setUnused(u.ID, u.Author, now+daySeconds)
	}
	e, err := r.Event(at.Seq)
	if err != nil {
		return err
	}
	used, until, err := un.force(e)
	switch {
	case err != nil:
		return err
	case used:
		return un.marks.keepMarks(e)
	case until > now:
		return un.setUnused(u.ID, u.Author, until)
	}
	return un.stored.takeOut(e, at, layout.ReasonUnused)
}

// force tells whether a deletion has removed something, and until when it is served because it has kept an event away.
func (un *unused) force(e *nostr.Event) (used bool, until int64, err error) {
	r := un.reader()
	for _, key := range layout.DeletionMarkKeys(e) {
		un.steps += index.SeekCost
		m, ok, err := r.MarkAt(key)
		if err != nil {
			return false, 0, err
		}
		if !ok || m.Time != e.CreatedAt {
			continue // a newer one has taken it over
		}
		used = used || m.Until == 0
		until = max(until, m.Until-layout.UnusedGateSeconds)
	}
	return used, until, nil
}

// UnusedQuietUntil returns a unix time before which neither AgeDue nor SweepMarks has anything to do. UnusedQuietUntil reads nothing from
// the disk. Only the goroutine that begins batches may call it, while none is open.
func (s *Store) UnusedQuietUntil() int64 { return min(s.ageFrom, s.sweepFrom) }
