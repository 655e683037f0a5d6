package peer

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/gaps"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
)

// following is the live part of a connection. It sends and closes live REQs as livesubs.Planner decides, and has the stored side catch up with the items
// that they follow. A wanted item stands in exactly one place of livesubs.Planner, or is under suspicion.
type following struct {
	*stepContext
	*itemState
	*connState
	demands    *requestModes
	stored     *catchup
	suspects   *suspects
	unfiltered *unfiltered
	planner    livesubs.Planner
	followed   gaps.Times
}

// facts are what livesubs.Planner decides by now. A filter carries more values than usual where the usual
// number would not fit the relay's limits.
func (f *following) facts() livesubs.Facts {
	repos := len(f.want.Repos)
	return livesubs.Facts{
		Now: f.now.Mono, Want: f.want, Confirmed: &f.confirmed, Limits: &f.limits,
		Values: f.limits.ValuesFor(repos, f.wanted.Len()-repos), MaxFilters: f.cfg.MaxFilters,
	}
}

// lotOf returns a lot of one item of which nothing is known yet.
func (f *following) lotOf(it want.Item) itemset.Lot {
	l := itemset.Lot{Layer: f.want.Layer(it), Items: []want.Item{it}}
	if l.Layer == want.LayerRepositories && f.want.Repository(it).Odd {
		l.Isolation = itemset.OddValue
	}
	l.Isolation = f.isolation(l)
	return l
}

// isolation returns why the items of a lot stand in REQs of their own now.
func (f *following) isolation(l itemset.Lot) itemset.Isolation {
	switch {
	case l.Layer != want.LayerAnnouncements:
		return l.Isolation
	case f.demands.kinds.Emptied():
		return itemset.NeedsNoKinds
	}
	return itemset.Shared
}

// holding returns a function that matches the groups which ask for an item of lots.
func holding(lots []itemset.Lot) func(*group) bool {
	set := itemset.Of(itemset.Each(lots))
	return func(g *group) bool { return slices.ContainsFunc(g.Items, set.Has) }
}

// tend opens, merges and closes live REQs.
func (f *following) tend() {
	if f.planner.Shrunk() {
		f.shrink()
	}
	for _, l := range f.planner.REQs() {
		switch {
		case !l.Overdue(f.now.Mono):
		case f.noticed > l.Sent.Mono && f.demands.names.Mute(l.RequestMode):
			f.closeLive(l)
			f.requeue(l.Lots(), l.Sent.Wall, f.now.Mono, l.Tries)
			continue
		default:
			f.liveOpened(l)
		}
		if l.Replaces(f.now.Mono) {
			for _, r := range l.Absorb() {
				f.closeLive(r)
			}
		}
	}
	f.closeExcess()
	f.promote()
	f.openWaiting()
	if !f.paused() {
		f.make(f.planner.Merge(f.facts()))
	}
}

// openWaiting opens live REQs for the items that wait, as far as the relay bears them.
func (f *following) openWaiting() {
	if f.unfiltered.on {
		f.openAll()
		return
	}
	f.suspects.suspectOdd()
	for more := true; more && !f.paused(); {
		m := f.planner.Next(f.facts())
		f.make(m)
		more = m.More
	}
}

// make makes a move of the live side.
func (f *following) make(m livesubs.Move) {
	for _, x := range m.Unfollowed {
		f.pollInstead(x)
	}
	if m.Load == nil {
		return
	}
	if !m.Overlap {
		for _, l := range m.Parts {
			f.closeLive(l)
			for _, x := range f.unfollow(l.Lots(), f.now.Wall) {
				m.Load.Add(x)
			}
		}
	}
	f.openLive(m.Load, m.Values)
}

// pollInstead closes the REQ of items that are polled from now on, if they had one, and asks for their stored events.
func (f *following) pollInstead(x livesubs.Unfollowed) {
	if x.REQ != nil {
		f.closeLive(x.REQ)
		f.stored.dropGroups(holding(x.REQ.Lots()))
	}
	for _, l := range x.Lots {
		f.stored.addGroups(l, Catchup, true)
	}
}

// promote lets promoted items wait for a live REQ.
func (f *following) promote() {
	if f.unfiltered.on || !f.planner.MayPromote(f.now.Mono) {
		return
	}
	for _, it := range f.planner.Promote(f.facts(), f.stored.polled()) {
		f.confirmed.Drop(it)
		l := f.lotOf(it)
		l.Since = itemset.AllAgain
		f.planner.Queue(l)
	}
}

// openAll has all items that wait followed by the one live REQ without a filter.
func (f *following) openAll() {
	if f.paused() {
		return
	}
	if f.unfiltered.req != nil {
		f.suspects.suspectOdd()
	}
	if lots := f.planner.TakeAll(f.now.Mono); len(lots) > 0 {
		f.unfiltered.open(lots)
	}
}

// closeAll closes all live REQs. Their items wait, and all stored events of the items are asked for anew.
func (f *following) closeAll() {
	for _, l := range f.planner.REQs() {
		f.closeLive(l)
		for _, x := range l.Lots() {
			x.Since = itemset.AllStored
			f.planner.Requeue(x, 0, 0)
		}
	}
}

// catchUp asks for the stored events of lots.
func (f *following) catchUp(lots []itemset.Lot, class Class) {
	for _, x := range lots {
		f.stored.addGroups(x, class, false)
	}
}

// openLive sends a live REQ for its items and for the items of its parts.
func (f *following) openLive(l *livesubs.REQ, values int) {
	var filters []nostr.Filter
	for layer := want.LayerAnnouncements; layer <= want.LayerRoots; layer++ {
		if items := l.Items(layer); len(items) > 0 {
			filters = append(filters, reqfilter.Of(f.want, layer, items, true, reqfilter.Bounds{Values: values})...)
		}
		if layer == want.LayerAnnouncements && len(filters) > 0 {
			filters = f.demands.withVanish(l, filters)
		}
	}
	f.sendLive(l, filters, values)
}

// sendLive sends a live REQ with filters.
func (f *following) sendLive(l *livesubs.REQ, filters []nostr.Filter, values int) {
	limit := f.limits.Limit()
	how := livesubs.Sending{Sub: f.newSub("l"), Now: f.now, Filters: filters, Limit: limit, Values: values}
	how.RequestMode = f.demands.requestMode(slices.ContainsFunc(filters, func(f nostr.Filter) bool { return f.Kinds == nil }))
	filters = f.demands.withoutUpper(filters, &how.RequestMode)
	how.Filters = filters
	for i := range filters {
		filters[i] = how.RequestMode.Mode.With(filters[i])
		filters[i].Limit = &limit
	}
	f.planner.Send(l, how)
	f.add(&request{sub: how.Sub, live: l, RequestMode: how.RequestMode})
	f.paced()
	f.effect(Request{Sub: how.Sub, Class: Live, Filters: filters})
}

// liveOpened begins the catch-up of the items.
func (f *following) liveOpened(l *livesubs.REQ) {
	if l.Open {
		return
	}
	l.Opened(f.now.Mono)
	f.followed.Follow(l.Lots(), f.opened, f.now)
	if l.Whole {
		f.unfiltered.opened(l)
		return
	}
	f.catchUp(l.Lots(), Catchup)
}

// heard reports whether the relay has answered a live REQ by EOSE.
func (f *following) heard(l *livesubs.REQ) bool { return f.requests[l.Sub].answered }

// closeUnanswered closes the live REQs that never got an EOSE; their items get other REQs.
// The relay may have lost such a REQ, and graspd would not learn of that otherwise.
func (f *following) closeUnanswered() {
	for _, l := range f.planner.REQs() {
		if l.Open && !f.heard(l) {
			f.closeLive(l)
		}
	}
}

// closeLive closes a live REQ. The caller has taken care of the items.
func (f *following) closeLive(l *livesubs.REQ) {
	f.closeReq(l.Sub)
	f.planner.Drop(l)
	delete(f.requests, l.Sub)
	if l.Whole {
		f.unfiltered.closed()
	}
}

// shrink takes items that are not wanted any more out of all places, and closes the live
// REQs that serve nothing then.
func (f *following) shrink() {
	gone := func(it want.Item) bool { return !f.wanted.Has(it) }
	for _, l := range f.planner.Shrink(f.want, gone) {
		f.closeLive(l)
	}
	f.stored.lose(gone)
}

// reopenMute sends the live REQs again that the relay never answered, also those that count as open:
// the relay may have refused them by a NOTICE that came late.
func (f *following) reopenMute() {
	mute := func(l *livesubs.REQ) bool { return !f.heard(l) }
	f.cancelMergeOf(mute)
	for _, l := range f.planner.REQs() {
		if mute(l) {
			f.closeLive(l)
			f.requeue(l.Lots(), l.Sent.Wall, f.now.Mono, l.Tries)
		}
	}
}

// reopenOutdated sends the live REQs again that went out without the kinds that the relay
// needs, or with kinds that the relay does not need.
func (f *following) reopenOutdated() {
	if !f.planner.Any(f.demands.outdated) {
		return
	}
	f.cancelMergeOf(f.demands.outdated)
	for _, l := range f.planner.REQs() {
		if f.demands.outdated(l) {
			f.closeLive(l)
			f.requeue(l.Lots(), f.now.Wall, 0, 0)
		}
	}
}

// cancelMerge ends the merge that is under way, if there is one.
func (f *following) cancelMerge() {
	if m := f.planner.Cancel(f.now.Mono); m != nil {
		f.closeLive(m)
		f.requeue(m.Lots(), f.now.Wall, 0, 0)
	}
}

// cancelMergeOf ends the merge that is under way, if is matches its new REQ or a REQ that this would replace.
func (f *following) cancelMergeOf(is func(*livesubs.REQ) bool) {
	if f.planner.Merges(is) {
		f.cancelMerge()
	}
}

// askAgain asks for all stored events of all wanted items again, but for the excepted ones. Polled items wait for a live REQ.
func (f *following) askAgain(class Class, except func(want.Item) bool) {
	placed := f.planner.Anew(f.wanted.Has)
	for _, it := range f.inOrder() {
		if placed.Put(it) && !except(it) {
			f.planner.Queue(f.lotOf(it))
		}
	}
	for _, l := range f.planner.REQs() {
		switch {
		case !l.Open:
		case l.Whole:
			f.unfiltered.compare(l.Lots(), class)
		default:
			f.catchUp(l.Lots(), class)
		}
	}
}

// unplace takes suspects out of live REQs, groups and polls, and out of the items
// that wait. The relay may ignore a whole live REQ because of one suspect: where the relay
// never answered the REQ of a suspect, the other items of the REQ get another one.
func (f *following) unplace(is func(want.Item) bool) {
	f.cancelMergeOf(func(l *livesubs.REQ) bool { return l.Holds(is) })
	for _, l := range f.planner.REQs() {
		if !l.Holds(is) {
			continue
		}
		l.Without(is)
		if !l.Whole && !l.Merging() && !f.heard(l) {
			f.closeLive(l)
			f.requeue(l.Lots(), l.Sent.Wall, f.now.Mono, l.Tries)
		}
	}
	f.stored.regroupWithout(is)
	f.planner.Lose(is)
	f.shrink()
}
