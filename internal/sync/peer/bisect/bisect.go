// Package bisect finds the repositories that one relay refuses to be asked for, by trials that are halved until what the relay refuses is
// alone. It is a function from what the relay did to what is tried next: its caller asks the relay, tells the time, and has everything that
// is not under suspicion asked elsewhere. Read Suspicion, then Begin.
package bisect

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/want"
)

// Times and counts of trials.
const (
	pace        = time.Second // from a refused trial to the next
	toRefuse    = 3           // refusals, after which the relay is taken to refuse one item alone
	retrialPace = time.Minute // between trials of items that the relay is taken to refuse
)

// Some relays refuse all of a request, or do not answer it, for one value that
// they do not take: one that is too long, or that holds a control character.
// Strangers choose the values of repositories. So that nobody's value keeps away
// what others wrote, the caller suspects repositories: those with a value that
// known relays refuse at once, others when a request with them was refused or
// not answered and nothing tells why.
//
// A refusal that does not speak of a value counts only after a trial with a
// value that nobody can object to, which shows that the relay answers at all.

// Suspicion knows the items under suspicion at one relay, and which of them a trial is due for. It outlives connections. What the caller wants
// of the relay bounds it. Times are readings of the steady clock. The zero value suspects nothing; one goroutine uses it.
type Suspicion struct {
	items   itemset.Set // all suspects
	doubted itemset.Set // no suspects yet, and to be tried
	refused itemset.Set // suspects that the relay is taken to refuse
	sets    []*trial
	accused *trial        // its trial failed, and counts once the relay has answered the harmless one
	after   time.Duration // no trial before
	retrial time.Duration // no trial before, of an item in refused
	silent  int           // harmless trials in a row that failed
	losses  int           // connections that ended with a trial
	trying  bool          // a trial is under way
	tried   *trial        // by that trial; nil for the harmless one
}

// trial is what one REQ tries.
type trial struct {
	items     []want.Item
	doubtOnly bool          // the items are no suspects before the relay refuses them
	knownOdd  bool          // known relays refuse a value of each item: such sets come last
	after     time.Duration // no trial before
	tries     int           // refusals, of one item alone
	hungUp    bool          // the relay hung up when the set was tried
}

// Finding is what a trial has shown.
type Finding struct {
	Accepted  []want.Item // the relay takes these
	Cleared   []want.Item // of Accepted, those that were suspects, in order
	Suspected []want.Item // these are suspects from now on
	Refused   []want.Item // the relay is taken to refuse these from now on; they stay suspects
}

// Has says whether an item is under suspicion.
func (s *Suspicion) Has(it want.Item) bool { return s.items.Has(it) }

// Doubts says whether an item is to be tried, and is no suspect before that fails.
func (s *Suspicion) Doubts(it want.Item) bool { return s.doubted.Has(it) }

// Refuses says whether the relay is taken to refuse an item.
func (s *Suspicion) Refuses(it want.Item) bool { return s.refused.Has(it) }

// All are the items under suspicion, in order.
func (s *Suspicion) All() []want.Item { return slices.Collect(s.items.Above(0)) }

// Len is how many items are under suspicion.
func (s *Suspicion) Len() int { return s.items.Len() }

// Refused is how many items the relay is taken to refuse.
func (s *Suspicion) Refused() int { return s.refused.Len() }

// Silent is how many harmless trials in a row have failed.
func (s *Suspicion) Silent() int { return s.silent }

// Suspect puts items under suspicion that are not. Each part is what one trial bears. odd says that known relays refuse a value of each item.
// The caller keeps the slices no longer.
func (s *Suspicion) Suspect(parts [][]want.Item, odd bool) {
	for _, part := range parts {
		s.sets = append(s.sets, &trial{items: part, knownOdd: odd})
		s.accuse(part)
	}
}

// Doubt has items tried that are neither suspects nor doubted. They are no suspects before a trial fails. Each part is what one trial bears. The
// caller keeps the slices no longer.
func (s *Suspicion) Doubt(parts [][]want.Item) {
	for _, part := range parts {
		for _, it := range part {
			s.doubted.Put(it)
		}
		s.sets = append(s.sets, &trial{items: part, doubtOnly: true})
	}
}

// Drop forgets an item that is wanted no more.
func (s *Suspicion) Drop(it want.Item) {
	s.items.Drop(it)
	s.doubted.Drop(it)
	s.refused.Drop(it)
}

// Begin begins a trial if one is due, and reports whether it did. No trial may be under way.
func (s *Suspicion) Begin(now time.Duration) bool {
	if now < s.after {
		return false
	}
	if s.accused == nil {
		x := s.next(now)
		if x == nil {
			return false
		}
		s.tried = x
		if s.refused.Has(x.items[0]) {
			s.retrial = now + retrialPace
		}
	}
	s.trying = true
	return true
}

// Tried are the items of the trial under way; nil for the harmless one, and where no trial is under way.
func (s *Suspicion) Tried() []want.Item {
	if s.tried == nil {
		return nil
	}
	return s.tried.items
}

// Wake is when the next trial is due, if that is after now; else backoff.Never.
func (s *Suspicion) Wake(now time.Duration) time.Duration {
	if s.trying {
		return backoff.Never
	}
	if s.accused != nil {
		return backoff.Later(s.after, now)
	}
	w := backoff.Never
	for _, x := range s.sets {
		w = min(w, backoff.Later(max(s.after, s.dueAt(x)), now))
	}
	return w
}

// Again has every item that the relay is taken to refuse tried anew. Items at whose trial the relay hung up wait for a full resync: a relay that
// is long in coming back would never get further.
func (s *Suspicion) Again(resync bool) {
	for _, x := range s.sets {
		if x.hungUp && !resync {
			continue
		}
		x.after, x.tries, x.hungUp = 0, 0, false
		for _, it := range x.items {
			s.refused.Drop(it)
		}
	}
	s.after, s.retrial, s.silent = 0, 0, 0
	if resync {
		s.losses = 0
	}
}

// next takes out the set whose turn it is: odd ones come last.
func (s *Suspicion) next(now time.Duration) *trial {
	s.tidy()
	best := -1
	for i, x := range s.sets {
		if s.dueAt(x) <= now && (best < 0 || !x.knownOdd && s.sets[best].knownOdd) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	x := s.sets[best]
	s.sets = slices.Delete(s.sets, best, best+1)
	return x
}

// dueAt is the earliest time for a trial of a set.
func (s *Suspicion) dueAt(x *trial) time.Duration {
	if len(x.items) == 1 && s.refused.Has(x.items[0]) {
		return max(x.after, s.retrial)
	}
	return x.after
}

// tidy takes items out of the sets that are neither suspects nor doubted any more.
func (s *Suspicion) tidy() {
	for _, x := range s.sets {
		s.tidySet(x)
	}
	s.sets = slices.DeleteFunc(s.sets, func(x *trial) bool { return len(x.items) == 0 })
}

func (s *Suspicion) tidySet(x *trial) {
	in := &s.items
	if x.doubtOnly {
		in = &s.doubted
	}
	x.items = slices.DeleteFunc(x.items, func(it want.Item) bool { return !in.Has(it) })
}

// accuse makes suspects of items.
func (s *Suspicion) accuse(items []want.Item) {
	for _, it := range items {
		s.items.Put(it)
		s.doubted.Drop(it)
	}
}
