package plan

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/ask"
	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/want"
)

// Root events that are talked about, and what found no place when it was new, come from the sweep among what is followed live.

// What rises, or is new, may have a large REQ replaced. That happens once in a while for all that waits for it.
const (
	riseInterval = time.Minute
	mostRising   = ask.MaxValues // items at once
)

// aboveAll is above every rank.
const aboveAll = math.MaxInt64

// rising is what is to be followed.
type rising struct {
	items itemset.Set
	look  bool          // there may be one of them in the sweep
	after time.Duration // no REQ is thinned before, and nothing rises that might need that
}

// rouse notes the root events that were talked about since the peer was told of old.
func (f *following) rouse(old *want.Want) {
	f.want.Roused(old, func(it want.Item) {
		if f.wanted.Has(it) {
			f.rising.items.Put(it)
			f.rising.look = true
		}
	})
}

// rise takes items out of the sweep that rank above some that are followed. What finds no place all the same is asked
// at once, and swept on. What is being asked follows when it has been.
func (f *following) rise() {
	r := &f.rising
	if !r.look || f.now.Mono < r.after || f.all.followsAll() {
		return
	}
	var up []want.Item
	least := f.live.least(f.want)
	for _, s := range f.sweeps {
		for _, it := range s.Items {
			if r.items.Has(it) && f.want.Rank(it) > least {
				up = append(up, it)
			}
		}
	}
	slices.SortFunc(up, func(a, b want.Item) int { return cmp.Compare(f.want.Rank(b), f.want.Rank(a)) })
	var rest itemset.Set
	f.stored.eachSwept(func(g *group) {
		for _, it := range g.Items {
			if r.items.Has(it) {
				rest.Put(it)
			}
		}
	})
	r.look = len(up) > mostRising
	for len(up) > mostRising {
		rest.Put(up[len(up)-1])
		up = up[:len(up)-1]
	}
	r.items = rest
	if len(up) == 0 {
		return
	}
	out := itemset.Of(slices.Values(up))
	f.lose(out.Has)
	for _, it := range up {
		f.confirmed.Drop(it)
		l := f.lotOf(it)
		l.Since = itemset.AllAgain
		f.queue(l)
	}
}

// riseLater notes what a REQ was to be thinned for too soon after another.
func (f *following) riseLater(load *liveReq) {
	r := &f.rising
	for it := range itemset.Each(load.lots) {
		r.items.Put(it)
		r.look = true
	}
}

// newest returns the highest rank in lots.
func newest(w *want.Want, lots []itemset.Lot) (at int64) {
	for it := range itemset.Each(lots) {
		at = max(at, w.Rank(it))
	}
	return at
}

// least returns the lowest rank of what is followed.
func (rs reqs) least(w *want.Want) int64 {
	least := int64(aboveAll)
	for _, l := range rs {
		for it := range itemset.Each(l.lots) {
			least = min(least, w.Rank(it))
		}
	}
	return least
}

// thin makes room for load in a live REQ that also has what ranks above it: the root events in it that rank lowest are
// swept. It reports whether there was one.
func (f *following) thin(load *liveReq, values int) bool {
	if f.now.Mono < f.rising.after {
		f.riseLater(load)
		return false
	}
	than := newest(f.want, load.lots)
	for _, l := range f.live {
		if !l.settled() || l.keeper != nil || l.apart != load.apart {
			continue
		}
		low, rest := f.lowest(l, load, than, values)
		if len(low) == 0 {
			continue
		}
		out := itemset.Of(slices.Values(low))
		l.lots, l.size = itemset.Prune(l.lots, out.Has), rest
		f.rising.after = f.now.Mono + riseInterval
		f.sweepLater(itemset.Lot{Layer: want.LayerRoots, Items: low})
		f.uniteWith(load, []*liveReq{l}, values)
		return true
	}
	return false
}

// lowest returns the root events of l that rank lowest, below that, as many as have to go for load to fit, and the size of
// the rest; none where that cannot be had. What is not confirmed stays, as it is still asked.
func (f *following) lowest(l, load *liveReq, than int64, values int) (low []want.Item, rest ask.Size) {
	for it := range itemset.Each(l.lots) {
		if f.want.Rank(it) < than && f.confirmed.Has(it) {
			low = append(low, it)
		}
	}
	slices.SortFunc(low, func(a, b want.Item) int { return cmp.Compare(f.want.Rank(a), f.want.Rank(b)) })
	rest = l.size
	for n := range low {
		rest = rest.WithoutRoot()
		with := rest.Plus(load.size)
		if f.limits.Fits(with, values) && f.bears(with.Message(values)-l.size.Message(l.values)) {
			return low[:n+1], rest
		}
	}
	return nil, ask.Size{}
}
