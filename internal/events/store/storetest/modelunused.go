package storetest

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	served = int64(store.UnusedServed / time.Second)
	gate   = int64(store.UnusedGate / time.Second)
)

// force is what deletions have left for a thing that they name: the zero value is nothing, and without an end it is for ever.
type force struct {
	there  bool
	time   int64 // of the newest
	until  int64 // 0 is for ever
	author nostr.PubKey
}

// ageing is a deletion that has removed nothing.
type ageing struct {
	due    int64
	author nostr.PubKey
}

func (m *model) maxUnused() int { return int(cmp.Or(m.opt.MaxUnused, store.MaxUnused)) }

func (b *modelBatch) stands(f force) bool { return f.there && (f.until == 0 || f.until > b.m.now()) }

func (b *modelBatch) due(e *nostr.Event) int64 { return min(e.CreatedAt, b.m.now()+served) + served }

// newer is what a deletion makes of it.
func (b *modelBatch) newer(f force, del *nostr.Event, used bool) force {
	n := force{there: true, time: del.CreatedAt, until: max(b.due(del), b.m.now()) + gate, author: del.PubKey}
	if used {
		n.until = 0
	}
	if !b.stands(f) {
		return n
	}
	n.time = max(n.time, f.time)
	if f.until == 0 || n.until == 0 {
		n.until = 0
	} else {
		n.until = max(n.until, f.until)
	}
	return n
}

// eachMark calls do with everything that a deletion has left.
func (b *modelBatch) eachMark(del *nostr.Event, do func(force) force) {
	for _, t := range del.Tags {
		id, idErr := nostr.ParseID(t.Value())
		a, aErr := nip34.ParseAddress(t.Value())
		m := mark{id, del.PubKey}
		if f, ok := b.deletedIDs[m]; ok && t.Name() == "e" && idErr == nil {
			b.deletedIDs[m] = do(f)
		}
		if f, ok := b.deletedAddresses[a.String()]; ok && t.Name() == "a" && aErr == nil && a.PubKey == del.PubKey {
			b.deletedAddresses[a.String()] = do(f)
		}
	}
}

func (b *modelBatch) keepMarks(del *nostr.Event) {
	b.eachMark(del, func(f force) force { f.until = 0; return f })
}

// usedMarks prolongs what has kept an event away.
func (b *modelBatch) usedMarks(e *nostr.Event) {
	until := b.m.now() + 2*gate
	longer := func(f force) force {
		if b.stands(f) && f.until != 0 && until-f.until >= day {
			f.until = until
		}
		return f
	}
	if e.Kind == nostr.KindDeletion || e.Kind == nostr.KindVanish {
		return
	}
	m := mark{e.ID, e.PubKey}
	if f, ok := b.deletedIDs[m]; ok {
		b.deletedIDs[m] = longer(f)
	}
	if f, ok := b.deletedAddresses[e.Address()]; ok && e.Address() != "" {
		b.deletedAddresses[e.Address()] = longer(f)
	}
}

func (b *modelBatch) isUnfinished(id nostr.ID) bool {
	return slices.ContainsFunc(b.unfinished, func(l left) bool { return l.del.e.ID == id })
}

func (b *modelBatch) limitUnused(e *nostr.Event, used bool) {
	n := 0
	for _, a := range b.ages {
		if a.author == e.PubKey {
			n++
		}
	}
	switch due := b.due(e); {
	case b.isUnfinished(e.ID):
		b.ages[e.ID] = ageing{max(due, b.m.now()+day), e.PubKey}
	case used:
		b.keepMarks(e)
	case due <= b.m.now() || n >= b.m.maxUnused():
		_ = b.Remove(e.ID, store.ReasonUnused)
	default:
		b.ages[e.ID] = ageing{due, e.PubKey}
	}
}

func (b *modelBatch) agedOf(author nostr.PubKey) int {
	n := 0
	for _, r := range b.memory {
		if r.why == policy.Unused && r.e.PubKey == author {
			n++
		}
	}
	return n
}

// AgeDue looks at those that are due.
func (b *modelBatch) AgeDue(now time.Time, max int) (next time.Time, n int, err error) {
	// those that have been looked at are due anew later than now
	for ; ; n++ {
		first, ok := nostr.ID{}, false
		for id, a := range b.ages {
			if !ok || cmp.Or(cmp.Compare(a.due, b.ages[first].due), id.Compare(first)) < 0 {
				first, ok = id, true
			}
		}
		if !ok {
			return time.Time{}, n, nil
		}
		if a := b.ages[first]; a.due > now.Unix() || n == max {
			return time.Unix(a.due, 0), n, nil
		}
		b.ops++
		b.age(first, now.Unix())
	}
}

func (b *modelBatch) age(id nostr.ID, now int64) {
	a := b.ages[id]
	delete(b.ages, id)
	s, ok := b.events[id]
	if !ok {
		return
	}
	if b.isUnfinished(id) {
		b.ages[id] = ageing{now + day, a.author}
		return
	}
	used, until := false, int64(math.MinInt64)
	b.eachMark(s.e, func(f force) force {
		if f.time == s.e.CreatedAt {
			used = used || f.until == 0
			until = max(until, f.until-gate)
		}
		return f
	})
	switch {
	case used:
		b.keepMarks(s.e)
	case until > now:
		b.ages[id] = ageing{until, a.author}
	default:
		_ = b.Remove(id, store.ReasonUnused)
	}
}

// SweepMarks takes away what is over.
func (b *modelBatch) SweepMarks(now time.Time, _ int) (bool, error) {
	if b.sweepFrom > now.Unix() {
		return false, nil
	}
	for m, f := range b.deletedIDs {
		if f.until != 0 && f.until <= now.Unix() {
			b.ops++
			delete(b.deletedIDs, m)
			b.marks[m.author]--
		}
	}
	for a, f := range b.deletedAddresses {
		if f.until != 0 && f.until <= now.Unix() {
			b.ops++
			delete(b.deletedAddresses, a)
			b.marks[f.author]--
		}
	}
	b.sweepFrom, b.m.disk.data.sweepFrom = now.Unix()+day, now.Unix()+day
	return false, nil
}
