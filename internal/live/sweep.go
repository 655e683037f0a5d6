package live

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/itemset"
)

// SweepInterval is how long an item without a live REQ waits for its next turn.
const SweepInterval = time.Hour

// Sweep is items without a live REQ that are asked again once in a while.
type Sweep struct {
	itemset.Lot
	At time.Duration // when their turn comes
}

// sweep sweeps what there is no room for live. Those items that are
// confirmed were followed until now, and wait for their turn; the others are returned, to be asked now.
func (s *Side) sweep(t Terms, lots []itemset.Lot) (fresh []itemset.Lot) {
	for _, l := range lots {
		ask, known := l, itemset.Lot{Layer: l.Layer, Apart: l.Apart}
		ask.Items = nil
		for _, it := range l.Items {
			if t.Confirmed.Has(it) {
				known.Items = append(known.Items, it)
			} else {
				ask.Items = append(ask.Items, it)
			}
		}
		s.sweepLater(known, t.Now)
		if len(ask.Items) > 0 {
			fresh = append(fresh, ask)
		}
	}
	return fresh
}

// sweepLater puts confirmed items off to the next sweep.
func (s *Side) sweepLater(l itemset.Lot, now time.Duration) {
	if len(l.Items) > 0 {
		l.Since = itemset.AllStored
		s.sweeps = append(s.sweeps, Sweep{Lot: l, At: now + SweepInterval})
	}
}

// Swept puts off what a sweep has confirmed. due is when its turn came; 0 = it had none before.
func (s *Side) Swept(l itemset.Lot, due, now time.Duration) {
	if due > 0 {
		s.turn = now - due
	}
	s.sweepLater(l, now)
	s.rising.look = s.rising.look || s.rising.items.Len() > 0
}

// Due takes out what is to be asked again, as its turn has come.
func (s *Side) Due(now time.Duration) (due []Sweep) {
	n := 0
	for n < len(s.sweeps) && s.sweeps[n].At <= now {
		n++
	}
	due = slices.Clone(s.sweeps[:n])
	s.sweeps = slices.Delete(s.sweeps, 0, n)
	return due
}

// Sweeps returns what waits for its turn, in order of time.
func (s *Side) Sweeps() []Sweep { return slices.Clone(s.sweeps) }

// Turn is what the last sweep took, from when its turn came until it was answered.
func (s *Side) Turn() time.Duration { return s.turn }
