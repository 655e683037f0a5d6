package livesubs

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/sync/peer/itemset"
)

// PollInterval is how long an item without a live REQ waits for its next turn.
const PollInterval = time.Hour

// Poll is items without a live REQ, whose stored events the caller asks for again when their turn comes.
type Poll struct {
	itemset.Lot
	At time.Duration // of their turn
}

// poll has items polled for which no REQ has room. Items that are confirmed were followed until now: they wait for their turn. poll
// returns the other items, whose stored events the caller asks for now.
func (s *Planner) poll(facts Facts, lots []itemset.Lot) (fresh []itemset.Lot) {
	for _, l := range lots {
		ask, known := l, itemset.Lot{Layer: l.Layer, Isolation: l.Isolation}
		ask.Items = nil
		for _, it := range l.Items {
			if facts.Confirmed.Has(it) {
				known.Items = append(known.Items, it)
			} else {
				ask.Items = append(ask.Items, it)
			}
		}
		s.pollLater(known, facts.Now)
		if len(ask.Items) > 0 {
			fresh = append(fresh, ask)
		}
	}
	return fresh
}

// pollLater lets confirmed items wait for their next turn.
func (s *Planner) pollLater(l itemset.Lot, now time.Duration) {
	if len(l.Items) > 0 {
		l.Since = itemset.AllStored
		s.polls = append(s.polls, Poll{Lot: l, At: now + PollInterval})
	}
}

// Polled records that all stored events of polled items are here, and lets the items wait for their next turn. due is when their last turn came;
// 0 = this was the first time.
func (s *Planner) Polled(l itemset.Lot, due, now time.Duration) {
	if due > 0 {
		s.pollTook = now - due
	}
	s.pollLater(l, now)
	s.promotion.look = s.promotion.look || s.promotion.items.Len() > 0
}

// Due takes out the items whose turn has come.
func (s *Planner) Due(now time.Duration) (due []Poll) {
	n := 0
	for n < len(s.polls) && s.polls[n].At <= now {
		n++
	}
	due = slices.Clone(s.polls[:n])
	s.polls = slices.Delete(s.polls, 0, n)
	return due
}

// Polls returns the items that wait for their turn, in order of time.
func (s *Planner) Polls() []Poll { return slices.Clone(s.polls) }

// PollTook returns how long the last items took that had a turn, until all their stored events were here.
func (s *Planner) PollTook() time.Duration { return s.pollTook }
