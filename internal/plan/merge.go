package plan

import (
	"slices"

	"github.com/graspd/graspd/internal/ask"
	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/want"
)

// standing counts the live REQs that occupy the relay's limit, one that has not
// replaced its parts yet not among them: a slot is reserved for it.
func (rs reqs) standing() int {
	if rs.merging() != nil {
		return len(rs) - 1
	}
	return len(rs)
}

// merging returns the REQ that has not replaced its parts yet; there is at most one.
func (rs reqs) merging() *liveReq {
	for _, l := range rs {
		if len(l.parts) > 0 {
			return l
		}
	}
	return nil
}

// unite opens one REQ for load and for small REQs that fit with it, which are
// closed when it has settled. It reports whether there are such.
func (f *following) unite(load *liveReq, values int) bool {
	parts := f.unitable(load, values)
	if len(parts) == 0 {
		return false
	}
	f.uniteWith(load, parts, values)
	return true
}

func (f *following) uniteWith(load *liveReq, parts []*liveReq, values int) {
	for _, l := range parts {
		load.size = load.size.Plus(l.size)
	}
	if f.limits.Spare() == 0 || !f.bears(load.size.Message(values)) {
		// No room for the two to overlap: what is missed in between is asked again.
		for _, l := range parts {
			f.closeLive(l)
			for _, x := range f.unfollow(l.lots, f.now.Wall) {
				load.lots = itemset.AddLot(load.lots, x)
			}
		}
		f.openLive(load, values)
		return
	}
	for _, l := range parts {
		l.by = load
	}
	load.parts, load.apart = parts, parts[0].apart
	f.openLive(load, values)
}

// unitable returns the smallest open REQs that fit into one with load. A REQ
// much larger than all before it is left alone, or every new root event would
// repeat the largest; unless nothing else is there.
func (f *following) unitable(load *liveReq, values int) []*liveReq {
	var open []*liveReq
	for _, l := range f.live {
		if l.settled() && l.apart == load.apart {
			open = append(open, l)
		}
	}
	slices.SortStableFunc(open, func(a, b *liveReq) int { return a.size.Items() - b.size.Items() })
	total := load.size
	for i, l := range open {
		with := total.Plus(l.size)
		if !f.limits.Fits(with, values) || i > 0 && l.size.Items() > 2*total.Items() {
			return open[:i]
		}
		total = with
	}
	return open
}

// mergeFilters unites small REQs where the filters have become too many and
// enough of them are saved to be worth it.
func (f *following) mergeFilters() {
	count := 0
	for _, l := range f.live {
		count += l.filters
	}
	if count <= f.cfg.MaxFilters || f.live.merging() != nil || f.limits.Spare() == 0 || !f.bears(f.live.held()) || f.now.Mono < max(f.mergeAfter, f.pausedTill) {
		return
	}
	values := f.values()
	parts := f.unitable(&liveReq{}, values)
	var total ask.Size
	for _, l := range parts {
		count -= l.filters
		total = total.Plus(l.size)
	}
	saved := -total.Filters(values)
	for _, l := range parts {
		saved += l.filters
	}
	if saved >= leastSaved {
		f.unite(&liveReq{}, values)
	}
}

// leastSaved is how many filters a merge must save if there is room for more REQs.
const leastSaved = 6

// absorb ends the REQs that l stands in for.
func (f *following) absorb(l *liveReq) {
	for _, r := range l.parts {
		f.closeLive(r)
		l.adopt(r)
	}
	l.parts = nil
}

// adopt takes over the items of r.
func (l *liveReq) adopt(r *liveReq) {
	r.by = nil
	for _, x := range r.lots {
		l.lots = itemset.AddLot(l.lots, x)
	}
}

// cancelMerge closes a REQ that has not replaced its parts yet.
func (f *following) cancelMerge() {
	m := f.live.merging()
	if m == nil {
		return
	}
	for _, r := range m.parts {
		r.by = nil
	}
	f.closeLive(m)
	f.requeue(m.lots, f.now.Wall, 0, 0)
	f.mergeAfter = f.now.Mono + firstRetry
}

// cancelMergeOf does so if one of the REQs that it is about is such.
func (f *following) cancelMergeOf(is func(*liveReq) bool) {
	if m := f.live.merging(); m != nil && (is(m) || slices.ContainsFunc(m.parts, is)) {
		f.cancelMerge()
	}
}

// settled says that it neither opens nor is replaced or stands in for others yet.
func (l *liveReq) settled() bool { return l.open && l.by == nil && len(l.parts) == 0 }

// evict sweeps root events that rank low in favour of those that rank higher, where all REQs are full: all of a REQ, or those
// of one that rank lowest. It reports whether there was room in the end.
func (f *following) evict(load *liveReq, values int) bool {
	than := newest(f.want, load.lots)
	for {
		if !f.shed(than) {
			return f.thin(load, f.limits.Dense())
		}
		if f.live.standing() < f.limits.Live() && f.bears(load.size.Message(values)) {
			f.openLive(load, values)
			return true
		}
	}
}

// shed sweeps the REQ whose root events rank lowest, if they all rank below that. It reports whether there was one.
func (f *following) shed(than int64) bool {
	l := f.live.oldest(f.want, than)
	if l == nil {
		return false
	}
	f.closeLive(l)
	f.stored.dropGroups(holding(l.lots))
	f.sweepInstead(l.lots)
	return true
}

// oldest returns the open REQ whose root events rank lowest, all below that; nil where there is none.
func (rs reqs) oldest(w *want.Want, than int64) (oldest *liveReq) {
	for _, l := range rs {
		if !l.settled() {
			continue
		}
		if at := newest(w, l.lots); at < than {
			oldest, than = l, at
		}
	}
	return oldest
}
