package livesubs

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/sync/peer/itemset"
)

// SweepInterval is how long an item without a live REQ waits for its next turn.
const SweepInterval = time.Hour

// Sweep is items without a live REQ, whose stored events the caller asks for again when their turn comes.
type Sweep struct {
	itemset.Lot
	At time.Duration // of their turn
}

// sweep sweeps items for which no REQ has room. Items that are confirmed were followed until now: they wait for their turn. sweep
// returns the other items, whose stored events the caller asks for now.
func (s *Side) sweep(facts Facts, lots []itemset.Lot) (fresh []itemset.Lot) {
	for _, l := range lots {
		ask, known := l, itemset.Lot{Layer: l.Layer, Apart: l.Apart}
		ask.Items = nil
		for _, it := range l.Items {
			if facts.Confirmed.Has(it) {
				known.Items = append(known.Items, it)
			} else {
				ask.Items = append(ask.Items, it)
			}
		}
		s.sweepLater(known, facts.Now)
		if len(ask.Items) > 0 {
			fresh = append(fresh, ask)
		}
	}
	return fresh
}

// sweepLater lets confirmed items wait for their next turn.
func (s *Side) sweepLater(l itemset.Lot, now time.Duration) {
	if len(l.Items) > 0 {
		l.Since = itemset.AllStored
		s.sweeps = append(s.sweeps, Sweep{Lot: l, At: now + SweepInterval})
	}
}

// Swept records that all stored events of swept items are here, and lets the items wait for their next turn. due is when their last turn came;
// 0 = this was the first time.
func (s *Side) Swept(l itemset.Lot, due, now time.Duration) {
	if due > 0 {
		s.turn = now - due
	}
	s.sweepLater(l, now)
	s.rising.look = s.rising.look || s.rising.items.Len() > 0
}

// Due takes out the items whose turn has come.
func (s *Side) Due(now time.Duration) (due []Sweep) {
	n := 0
	for n < len(s.sweeps) && s.sweeps[n].At <= now {
		n++
	}
	due = slices.Clone(s.sweeps[:n])
	s.sweeps = slices.Delete(s.sweeps, 0, n)
	return due
}

// Sweeps returns the items that wait for their turn, in order of time.
func (s *Side) Sweeps() []Sweep { return slices.Clone(s.sweeps) }

// Turn returns how long the last items took that had a turn, until all their stored events were here.
func (s *Side) Turn() time.Duration { return s.turn }
