package store

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/index"
	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

const daySeconds = 24 * 3600

// MaxUnused is how many unused deletion requests of one author are served, and how many are remembered for UnusedGate, unless Options
// say otherwise. Beyond that one is not served, and remembered for a week.
const MaxUnused = 1000

// setUnused has a request, which is not looked at yet, be looked at at some time.
func (b *Batch) setUnused(id nostr.ID, author nostr.PubKey, due int64) error {
	m, err := b.marksOf(author)
	if err != nil {
		return err
	}
	m.Unused++
	b.marked[author] = m
	due = max(due, 0)
	b.ageFrom = min(b.ageFrom, due)
	if err := b.set(layout.IDKey(layout.TableUnusedDue, id), binary.BigEndian.AppendUint64(nil, uint64(due))); err != nil {
		return err
	}
	return b.set(layout.TimedKey(layout.TableUnused, due, id), author[:])
}

// dropUnused has a request not be looked at any more, if it is to be.
func (b *Batch) dropUnused(id nostr.ID, author nostr.PubKey) error {
	v, ok, err := index.Get(b.w, layout.IDKey(layout.TableUnusedDue, id))
	if err != nil || !ok {
		return err
	}
	if len(v) != 8 {
		return fmt.Errorf("unused deletion: %w", layout.ErrCorrupt)
	}
	due := int64(binary.BigEndian.Uint64(v))
	m, err := b.marksOf(author)
	if err != nil {
		return err
	}
	m.Unused = uint32(max(0, int64(m.Unused)-1))
	b.marked[author] = m
	if err := b.delete(layout.IDKey(layout.TableUnusedDue, id)); err != nil {
		return err
	}
	return b.delete(layout.TimedKey(layout.TableUnused, due, id))
}

// limitUnused sees to it that a deletion that was added goes in time if it is unused, at once where it is too old or its author has
// many. What an unfinished one does is found out when it is done.
func (b *Batch) limitUnused(e *nostr.Event, seq layout.Seq) error {
	now := b.reader().Now
	_, unfinished, err := index.Get(b.w, layout.UnfinishedKey(e.PubKey, seq))
	switch {
	case err != nil:
		return err
	case unfinished:
		return b.setUnused(e.ID, e.PubKey, max(layout.AgesAt(e.CreatedAt, now), now+daySeconds))
	case b.used:
		return b.keepMarks(e)
	}
	m, err := b.marksOf(e.PubKey)
	if err != nil {
		return err
	}
	due := layout.AgesAt(e.CreatedAt, now)
	if due <= now || int64(m.Unused) >= b.s.opt.MaxUnused {
		return b.Remove(e.ID, layout.ReasonUnused)
	}
	return b.setUnused(e.ID, e.PubKey, due)
}

// AgeDue looks at up to max unused deletion requests whose time is over by now, the longest first, and removes those that nothing has
// been kept away by since. It says how many it has looked at, and when the next one is due: at once where there are more, the zero time
// where there are none.
func (b *Batch) AgeDue(now time.Time, max int) (next time.Time, n int, err error) {
	due, from, err := b.unusedDue(now.Unix(), max)
	if err != nil {
		return next, 0, fmt.Errorf("unused deletions: %w", err)
	}
	b.ageFrom = from
	if b.ops == 0 && len(due) == 0 { // it holds for the store, whatever becomes of the batch
		b.s.ageFrom = from
	}
	for _, u := range due {
		if err := b.age(u, now.Unix()); err != nil {
			return next, n, fmt.Errorf("unused deletion %s: %w", u.ID, err)
		}
		n++
	}
	if b.ageFrom != math.MaxInt64 {
		next = time.Unix(b.ageFrom, 0)
	}
	return next, n, nil
}

func (b *Batch) unusedDue(until int64, max int) (due []layout.UnusedRow, next int64, err error) {
	it, err := b.w.NewIter(&pebble.IterOptions{LowerBound: layout.TimedKey(layout.TableUnused, b.ageFrom, nostr.ID{}), UpperBound: []byte{layout.TableUnused + 1}})
	if err != nil {
		return nil, b.ageFrom, err
	}
	defer index.CloseAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		u, err := layout.ParseUnused(it.Key(), it.Value())
		if err != nil {
			return nil, b.ageFrom, err
		}
		if u.Due > until || len(due) == max {
			return due, u.Due, nil
		}
		due = append(due, u)
	}
	return due, math.MaxInt64, it.Error()
}

func (b *Batch) age(u layout.UnusedRow, now int64) error {
	b.ops++
	if err := b.dropUnused(u.ID, u.Author); err != nil {
		return err
	}
	r := b.reader()
	_, at, ok, err := r.Lookup(u.ID)
	if err == nil && !ok {
		err = layout.ErrCorrupt
	}
	if err != nil {
		return err
	}
	if _, unfinished, err := index.Get(b.w, layout.UnfinishedKey(u.Author, at.Seq)); err != nil {
		return err
	} else if unfinished {
		return b.setUnused(u.ID, u.Author, now+daySeconds)
	}
	e, err := r.Event(at.Seq)
	if err != nil {
		return err
	}
	used, until, err := b.force(e)
	switch {
	case err != nil:
		return err
	case used:
		return b.keepMarks(e)
	case until > now:
		return b.setUnused(u.ID, u.Author, until)
	}
	return b.takeOut(e, at, layout.ReasonUnused)
}

// force is whether a deletion has removed something, and until when it is served for what it has kept away.
func (b *Batch) force(e *nostr.Event) (used bool, until int64, err error) {
	r := b.reader()
	for _, key := range layout.DeletionMarkKeys(e) {
		b.steps += index.SeekCost
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

// UnusedQuietUntil returns a unix time before which neither AgeDue nor SweepMarks has anything to do. It reads nothing. Only the
// goroutine that begins batches may call it, while none is open.
func (s *Store) UnusedQuietUntil() int64 { return min(s.ageFrom, s.sweepFrom) }

// agedAs is what an unused deletion is remembered as: where its author has too many that are remembered for long, as any other.
func (b *Batch) agedAs(author nostr.PubKey) (policy.Outcome, error) {
	m, err := b.marksOf(author)
	if err != nil || int64(m.Aged) < b.s.opt.MaxUnused {
		return policy.Unused, err
	}
	return policy.Refuse, nil
}

// countAged counts a record of an unused deletion that comes or goes.
func (b *Batch) countAged(r layout.Record, n int) error {
	if r.Why != policy.Unused {
		return nil
	}
	m, err := b.marksOf(r.Author)
	if err != nil {
		return err
	}
	m.Aged = uint32(max(0, int64(m.Aged)+int64(n)))
	b.marked[r.Author] = m
	return nil
}
