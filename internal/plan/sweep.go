package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/step"
)

// sweep is items without a live REQ that are asked again once in a while.
type sweep struct {
	itemset.Lot
	at time.Duration
}

// sweepInstead catches up items for which there is no room live. Those that are
// confirmed were followed until now.
func (f *following) sweepInstead(lots []itemset.Lot) {
	for _, l := range lots {
		fresh, known := l, itemset.Lot{Layer: l.Layer, Apart: l.Apart}
		fresh.Items = nil
		for _, it := range l.Items {
			if f.confirmed.Has(it) {
				known.Items = append(known.Items, it)
			} else {
				fresh.Items = append(fresh.Items, it)
			}
		}
		f.sweepLater(known)
		f.stored.addGroups(fresh, step.Catchup, true)
	}
}

// sweepLater puts confirmed items off to the next sweep.
func (f *following) sweepLater(l itemset.Lot) {
	if len(l.Items) > 0 {
		l.Since = itemset.AllStored
		f.sweeps = append(f.sweeps, &sweep{Lot: l, at: f.now.Mono + sweepInterval})
	}
}

// forgetSwept unconfirms what was not followed to the end of the connection: the
// mark says nothing about it.
func (f *following) forgetSwept() {
	drop := func(l itemset.Lot) {
		for _, it := range l.Items {
			f.confirmed.Drop(it)
		}
	}
	for _, s := range f.sweeps {
		drop(s.Lot)
	}
	f.stored.eachSwept(func(g *group) { drop(g.Lot) })
}

// sweptDone puts off what a sweep has confirmed. due is when its turn came; 0 = it had none before.
func (f *following) sweptDone(l itemset.Lot, due time.Duration) {
	if due > 0 {
		f.turn = f.now.Mono - due
	}
	f.sweepLater(l)
	f.rising.look = f.rising.look || f.rising.items.Len() > 0
}

// tendSweeps asks swept items again whose time has come.
func (f *following) tendSweeps() {
	due := 0
	for ; due < len(f.sweeps) && f.sweeps[due].at <= f.now.Mono; due++ {
		f.stored.askSwept(f.sweeps[due].Lot, f.sweeps[due].at)
	}
	f.sweeps = slices.Delete(f.sweeps, 0, due)
}

// turnOf returns how long it takes until a swept item is asked again and answered, as far as that is known: the interval, and
// what the last took, or the oldest that is under way takes already.
func (c *session) turnOf(now time.Duration) time.Duration {
	took := c.turn
	for _, g := range c.groups {
		if g.swept && g.due > 0 {
			took = max(took, now-g.due)
		}
	}
	return sweepInterval + took
}
