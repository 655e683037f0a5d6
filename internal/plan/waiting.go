package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/want"
)

// lotOf returns a lot of one item of which nothing is known yet.
func (f *following) lotOf(it want.Item) itemset.Lot {
	l := itemset.Lot{Layer: f.want.Layer(it), Items: []want.Item{it}}
	if l.Layer == want.LayerRepositories && f.want.Repository(it).Odd {
		l.Apart = itemset.ApartLong
	}
	l.Apart = f.apart(l)
	return l
}

// apart returns how the items of a lot stand now.
func (f *following) apart(l itemset.Lot) itemset.Apart {
	switch {
	case l.Layer != want.LayerAnnouncements:
		return l.Apart
	case f.demands.kinds.Emptied():
		return itemset.ApartBare
	}
	return itemset.Together
}

// holding matches the groups that ask for an item of lots.
func holding(lots []itemset.Lot) func(*group) bool {
	set := itemset.Of(itemset.Each(lots))
	return func(g *group) bool { return slices.ContainsFunc(g.Items, set.Has) }
}

// waiting is a lot that no live REQ asks for yet.
type waiting struct {
	itemset.Lot
	after time.Duration
	tries int
}

// queue adds an item to those that wait.
func (f *following) queue(l itemset.Lot) {
	for _, w := range f.waiting {
		if w.Alike(l) && w.after == 0 {
			w.Items = append(w.Items, l.Items...)
			return
		}
	}
	f.waiting = append(f.waiting, &waiting{Lot: l})
}

// fill takes as many waiting items as one REQ bears; nil when none wait. What
// does not fit even alone is swept.
func (f *following) fill(values int) *liveReq {
	load := &liveReq{}
	for i := 0; i < len(f.waiting); {
		w := f.waiting[i]
		if w.after > f.now.Mono || len(load.lots) > 0 && w.Apart != load.apart {
			i++
			continue
		}
		n := f.take(load, w, values)
		switch {
		case n == len(w.Items):
			f.waiting = slices.Delete(f.waiting, i, i+1)
			continue
		case len(load.lots) > 0:
			w.Items = w.Items[n:]
			return load
		}
		f.sweepInstead([]itemset.Lot{{Layer: w.Layer, Apart: w.Apart, Since: w.Since, Items: w.Items[:1]}})
		if w.Items = w.Items[1:]; len(w.Items) == 0 {
			f.waiting = slices.Delete(f.waiting, i, i+1)
		}
	}
	if len(load.lots) == 0 {
		return nil
	}
	return load
}

// take moves items of w into load until it is full and returns how many. They
// stay in w for the caller to remove.
func (f *following) take(load *liveReq, w *waiting, values int) int {
	n := 0
	for _, it := range w.Items {
		s := load.size
		if s.Add(f.want, it); !f.limits.Fits(s, values) {
			break
		}
		load.size = s
		n++
	}
	if n > 0 {
		load.apart, load.tries = w.Apart, max(load.tries, w.tries)
		load.lots = itemset.AddLot(load.lots, itemset.Lot{Layer: w.Layer, Apart: w.Apart, Since: w.Since, Items: w.Items[:n]})
	}
	return n
}
