package plan

import (
	"iter"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/paging"
	"github.com/graspd/graspd/internal/want"
)

// lot is items of one layer that stand alike.
type lot struct {
	layer want.Layer
	apart apart // kept in REQs of their own
	since since // their stored events are asked from here on
	items []want.Item
}

// since is from when on the stored events of items are asked, in Unix seconds by the local clock.
type since int64

const (
	allStored since = 0 // all of them
	allAgain  since = 1 // all of them, of items that were confirmed: what they tell of coverage counts already
)

// sinceTime is the since of items that are known to have been complete at a time.
func sinceTime(t time.Time) since { return max(allAgain, since(t.Unix())) }

// bounded says whether less than all is asked.
func (s since) bounded() bool { return s > allAgain }

// counted says whether what the stored events tell of coverage counts already.
func (s since) counted() bool { return s > allStored }

// span is the times that are asked.
func (s since) span() paging.Span { return paging.From(int64(s)) }

// apart says why items are not to stand in one REQ with others.
type apart uint8

const (
	together  apart = iota
	apartLong       // known relays refuse a REQ for values like theirs
	apartBare       // the relay answers a REQ with their filter with nothing
)

// alike says whether the items of both may stand in one lot.
func (l lot) alike(o lot) bool { return l.layer == o.layer && l.apart == o.apart && l.since == o.since }

// addLot adds a lot to lots, into one that is alike if there is one. It does
// not keep l.items.
func addLot(lots []lot, l lot) []lot {
	if len(l.items) == 0 {
		return lots
	}
	for i := range lots {
		if lots[i].alike(l) {
			lots[i].items = append(lots[i].items, l.items...)
			return lots
		}
	}
	l.items = slices.Clone(l.items)
	return append(lots, l)
}

// each yields the items of lots.
func each(lots []lot) iter.Seq[want.Item] {
	return func(yield func(want.Item) bool) {
		for _, l := range lots {
			for _, it := range l.items {
				if !yield(it) {
					return
				}
			}
		}
	}
}

// lotOf returns a lot of one item of which nothing is known yet.
func (f *following) lotOf(it want.Item) lot {
	l := lot{layer: f.want.Layer(it), items: []want.Item{it}}
	if l.layer == want.LayerRepositories && f.want.Repository(it).Odd {
		l.apart = apartLong
	}
	l.apart = f.apart(l)
	return l
}

// apart returns how the items of a lot stand now.
func (f *following) apart(l lot) apart {
	switch {
	case l.layer != want.LayerAnnouncements:
		return l.apart
	case f.demands.kinds.Emptied():
		return apartBare
	}
	return together
}

// holding matches the groups that ask for an item of lots.
func holding(lots []lot) func(*group) bool {
	set := setOf(each(lots))
	return func(g *group) bool { return slices.ContainsFunc(g.items, set.has) }
}

// waiting is a lot that no live REQ asks for yet.
type waiting struct {
	lot
	after time.Duration
	tries int
}

// queue adds an item to those that wait.
func (f *following) queue(l lot) {
	for _, w := range f.waiting {
		if w.alike(l) && w.after == 0 {
			w.items = append(w.items, l.items...)
			return
		}
	}
	f.waiting = append(f.waiting, &waiting{lot: l})
}

// fill takes as many waiting items as one REQ bears; nil when none wait. What
// does not fit even alone is swept.
func (f *following) fill(values int) *liveReq {
	load := &liveReq{}
	for i := 0; i < len(f.waiting); {
		w := f.waiting[i]
		if w.after > f.now.Mono || len(load.lots) > 0 && w.apart != load.apart {
			i++
			continue
		}
		n := f.take(load, w, values)
		switch {
		case n == len(w.items):
			f.waiting = slices.Delete(f.waiting, i, i+1)
			continue
		case len(load.lots) > 0:
			w.items = w.items[n:]
			return load
		}
		f.sweepInstead([]lot{{layer: w.layer, apart: w.apart, since: w.since, items: w.items[:1]}})
		if w.items = w.items[1:]; len(w.items) == 0 {
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
	for _, it := range w.items {
		s := load.size
		if s.add(f.want, it); !s.fits(f.limits, values) {
			break
		}
		load.size = s
		n++
	}
	if n > 0 {
		load.apart, load.tries = w.apart, max(load.tries, w.tries)
		load.lots = addLot(load.lots, lot{layer: w.layer, apart: w.apart, since: w.since, items: w.items[:n]})
	}
	return n
}
