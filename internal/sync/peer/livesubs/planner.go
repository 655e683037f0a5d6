// Package livesubs decides which live REQs there should be at one relay: how waiting items are packed into them, which REQs are merged, and which
// items give way where the relay bears no more. Those are polled: asked in turns. It is a function of values: its caller sends and closes
// the REQs, tells what became of them and what the time is, and asks for what is stored. Read Planner, then Next.
package livesubs

import (
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/want"
)

// Planner is the live side of one connection. Each item that it was given stands in exactly one place: it waits, or it is served by one REQ, or it
// is polled. Times are readings of the steady clock. The zero value has nothing; one goroutine uses it.
type Planner struct {
	reqs       []*REQ // in the order in which the caller sent them
	waiting    []*Waiting
	polls      []Poll        // in order of time
	promotion  promotion     // polled items that are to be followed
	pollTook   time.Duration // how long the last poll took
	shrunk     bool          // items were taken back since the last look
	mergeAfter time.Duration // before it nothing merges, as a merge was refused
}

// Facts are what Planner decides by.
type Facts struct {
	Now        time.Duration
	Want       *want.Want
	Confirmed  *itemset.Known
	Limits     *capacity.Capacity // what the relay bears
	Values     int                // that a live filter carries
	MaxFilters int                // before small REQs are merged
}

// REQs returns the REQs that were sent and not dropped since, the oldest first. The slice is the caller's.
func (s *Planner) REQs() []*REQ { return slices.Clone(s.reqs) }

// Any reports whether is is true for one of the REQs.
func (s *Planner) Any(is func(*REQ) bool) bool { return slices.ContainsFunc(s.reqs, is) }

// Len returns how many REQs there are.
func (s *Planner) Len() int { return len(s.reqs) }

// Newest returns the REQ that was sent last; nil where there is none.
func (s *Planner) Newest() *REQ {
	if len(s.reqs) == 0 {
		return nil
	}
	return s.reqs[len(s.reqs)-1]
}

// standing counts the REQs that occupy the relay's limit. The new REQ of a merge
// under way is not among them: a subscription is reserved for it.
func (s *Planner) standing() int {
	if s.merging() != nil {
		return len(s.reqs) - 1
	}
	return len(s.reqs)
}

// merging returns the new REQ of the merge under way; there is at most one.
func (s *Planner) merging() *REQ {
	for _, l := range s.reqs {
		if len(l.parts) > 0 {
			return l
		}
	}
	return nil
}

// Moving reports whether a live REQ is about to open or to be replaced.
func (s *Planner) Moving() bool {
	return slices.ContainsFunc(s.reqs, func(l *REQ) bool { return !l.Open || len(l.parts) > 0 })
}

// Bytes returns how much all live REQs ask for together, in bytes of their messages.
func (s *Planner) Bytes() (sum int) {
	for _, l := range s.reqs {
		sum += l.bytes()
	}
	return sum
}

// bears reports whether the relay bears more bytes of live REQs.
func (s *Planner) bears(facts Facts, more int) bool { return facts.Limits.Bears(s.Bytes(), more) }

// Wake returns the time at which a REQ, or an item without one, needs attention.
func (s *Planner) Wake(now time.Duration) time.Duration {
	w := backoff.Never
	for _, l := range s.reqs {
		switch {
		case !l.Open:
			w = min(w, l.Sent.Mono+OpenAfter)
		case len(l.parts) > 0:
			w = min(w, l.openAt+mergeLinger)
		}
	}
	for _, x := range s.waiting {
		w = min(w, backoff.Later(x.After, now))
	}
	if len(s.polls) > 0 {
		w = min(w, s.polls[0].At)
	}
	w = min(w, backoff.Later(s.mergeAfter, now))
	if s.promotion.look {
		w = min(w, backoff.Later(s.promotion.after, now))
	}
	return w
}

// Unwanted notes that an item is wanted no more. Shrink takes all such items out in one go.
func (s *Planner) Unwanted(it want.Item) {
	s.promotion.items.Drop(it)
	s.shrunk = true
}

// Shrunk reports whether Shrink has something to take out.
func (s *Planner) Shrunk() bool { return s.shrunk }

// Shrink takes the items for which gone is true out of all places, and returns the REQs that serve nothing then, which the caller closes.
func (s *Planner) Shrink(w *want.Want, gone func(want.Item) bool) (idle []*REQ) {
	s.shrunk = false
	for _, l := range s.reqs {
		l.Without(gone)
		if l.idle() {
			idle = append(idle, l)
		}
	}
	for _, l := range s.reqs {
		l.Size = l.sizeNow(w)
	}
	s.Lose(gone)
	return idle
}

// Lose takes items out of those that wait and those that are polled.
func (s *Planner) Lose(gone func(want.Item) bool) {
	for _, w := range s.waiting {
		w.Items = slices.DeleteFunc(w.Items, gone)
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(w *Waiting) bool { return len(w.Items) == 0 })
	for i := range s.polls {
		s.polls[i].Items = slices.DeleteFunc(s.polls[i].Items, gone)
	}
	s.polls = slices.DeleteFunc(s.polls, func(x Poll) bool { return len(x.Items) == 0 })
}

// Anew ends all polling, and marks the items that are in live REQs or wait for one: all their stored events are asked for. It returns
// those of them that are wanted.
func (s *Planner) Anew(wanted func(want.Item) bool) *itemset.Set {
	s.polls = nil
	var set itemset.Set
	note := func(l *itemset.Lot) {
		l.Since = itemset.AllStored
		for _, it := range l.Items {
			if wanted(it) {
				set.Put(it)
			}
		}
	}
	for _, l := range s.reqs {
		for i := range l.lots {
			note(&l.lots[i])
		}
	}
	for _, w := range s.waiting {
		note(&w.Lot)
	}
	return &set
}

// Lost notes that the relay refused or ended a REQ. It reports whether the items are served all the same, by an open REQ that was to replace
// the lost one.
func (s *Planner) Lost(l *REQ, now time.Duration) (served bool) {
	if m := l.by; m != nil {
		m.parts = slices.DeleteFunc(m.parts, func(r *REQ) bool { return r == l })
		if m.Open {
			m.adopt(l)
			return true
		}
		// m asks for more than it serves now; Shrink ends it if it serves nothing.
		s.shrunk = true
	}
	if len(l.parts) > 0 {
		l.release()
		s.mergeLater(now)
	}
	return false
}

// mergeLater lets nothing merge for a while.
func (s *Planner) mergeLater(now time.Duration) { s.mergeAfter = now + backoff.FirstRetry }

// MergeSoon lets REQs merge again, as those that were refused are not sent again.
func (s *Planner) MergeSoon() { s.mergeAfter = 0 }

// Check looks for REQs that serve nothing and for sizes that are not those of the items: what a test asks after each step.
func (s *Planner) Check(w *want.Want) error {
	for _, l := range s.reqs {
		if l.idle() {
			return fmt.Errorf("live REQ %s serves nothing", l.Sub)
		}
		if size := l.sizeNow(w); l.Size != size && !l.Whole && !s.shrunk {
			return fmt.Errorf("live REQ %s is of size %+v and not %+v", l.Sub, l.Size, size)
		}
	}
	return nil
}
