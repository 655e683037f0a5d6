package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/ask"
	"github.com/graspd/graspd/internal/followed"
	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/live"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/step"
	"github.com/graspd/graspd/internal/want"
)

// following sends and closes live REQs, as live.Side decides which there should be, and has caught up with what they follow. An item that is
// wanted stands in exactly one place of that side, or is under suspicion.
type following struct {
	*desk
	*books
	*wire
	demands  *demanded
	stored   beside
	keeper   keeper
	wary     wary
	side     live.Side
	followed followed.Times
}

// beside is what the live side asks of the other parts.
type beside interface {
	addGroups(l itemset.Lot, class step.Class, swept bool) // has stored events asked
	askSwept(l itemset.Lot, due time.Duration)             // likewise, where they are swept and their turn came
	dropGroups(match func(*group) bool)                    // has them asked no more
	lose(gone func(want.Item) bool)                        // has those of items asked no more
	swept() []want.Item                                    // the swept items that are asked
	openREQs() int                                         // stored ones
	pause()                                                // as the relay asked to slow down
	regroupWithout(is func(want.Item) bool)                // has groups asked without items
}

// wary is who takes items out of all places that the relay may refuse a request for.
type wary interface {
	suspect(items []want.Item, odd bool) bool         // false where none may be under suspicion
	suspectOdd()                                      // suspects those that wait and that known relays refuse
	mistrust(items []want.Item)                       // has items tried that stay where they are
	acquit() []want.Item                              // ends all suspicion and returns who was under it
	withoutSuspects(lots []itemset.Lot) []itemset.Lot // what is left of lots
}

// keeper is who has everything followed at once by one live REQ, where the relay is asked as a whole, and is told what becomes of that.
type keeper interface {
	followsAll() bool        // whether one live REQ is to follow everything
	standing() bool          // whether it was sent
	open(lots []itemset.Lot) // has lots followed by it
	opened(l *live.REQ)
	closed()
	refused(l *live.REQ, text string, from time.Time)
	decided(out policy.Outcome)
	askAgain(l *live.REQ, class step.Class)
}

// terms are what the live side goes by now. A filter carries more values than usual where the usual
// number would not fit the relay's limits.
func (f *following) terms() live.Terms {
	repos := len(f.want.Repos)
	return live.Terms{
		Now: f.now.Mono, Want: f.want, Confirmed: &f.confirmed, Limits: &f.limits,
		Values: f.limits.ValuesFor(repos, f.wanted.Len()-repos), MaxFilters: f.cfg.MaxFilters,
	}
}

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

// tend opens, merges and closes live REQs.
func (f *following) tend() {
	if f.side.Shrunk() {
		f.shrink()
	}
	for _, l := range f.side.REQs() {
		if l.Overdue(f.now.Mono) {
			f.liveOpened(l)
		}
		if l.Replaces(f.now.Mono) {
			for _, r := range l.Absorb() {
				f.closeLive(r)
			}
		}
	}
	f.closeExcess()
	f.rise()
	f.openWaiting()
	if !f.paused() {
		f.make(f.side.Merge(f.terms()))
	}
}

// openWaiting opens live REQs for what waits, as far as the relay bears that.
func (f *following) openWaiting() {
	if f.keeper.followsAll() {
		f.openAll()
		return
	}
	f.wary.suspectOdd()
	for more := true; more && !f.paused(); {
		m := f.side.Next(f.terms())
		f.make(m)
		more = m.More
	}
}

// make makes a move of the live side.
func (f *following) make(m live.Move) {
	for _, x := range m.Swept {
		f.sweep(x)
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

// sweep asks for what has no live REQ any more, or none for want of room.
func (f *following) sweep(x live.Swept) {
	if x.REQ != nil {
		f.closeLive(x.REQ)
		f.stored.dropGroups(holding(x.REQ.Lots()))
	}
	for _, l := range x.Lots {
		f.stored.addGroups(l, step.Catchup, true)
	}
}

// rise has what rises wait for a live REQ.
func (f *following) rise() {
	if f.keeper.followsAll() || !f.side.MayRise(f.now.Mono) {
		return
	}
	for _, it := range f.side.Rise(f.terms(), f.stored.swept()) {
		f.confirmed.Drop(it)
		l := f.lotOf(it)
		l.Since = itemset.AllAgain
		f.side.Queue(l)
	}
}

// openAll has everything that waits followed by one live REQ.
func (f *following) openAll() {
	if f.paused() {
		return
	}
	if f.keeper.standing() {
		f.wary.suspectOdd()
	}
	if lots := f.side.TakeAll(f.now.Mono); len(lots) > 0 {
		f.keeper.open(lots)
	}
}

// closeAll closes all live REQs and has what they followed wait, with all that is stored.
func (f *following) closeAll() {
	for _, l := range f.side.REQs() {
		f.closeLive(l)
		for _, x := range l.Lots() {
			x.Since = itemset.AllStored
			f.side.Requeue(x, 0, 0)
		}
	}
}

// catchUp has the stored events of lots asked.
func (f *following) catchUp(lots []itemset.Lot, class step.Class) {
	for _, x := range lots {
		f.stored.addGroups(x, class, false)
	}
}

// openLive sends a live REQ for its items and those of its parts.
func (f *following) openLive(l *live.REQ, values int) {
	var filters []nostr.Filter
	for layer := want.LayerAnnouncements; layer <= want.LayerRoots; layer++ {
		if items := l.Items(layer); len(items) > 0 {
			filters = append(filters, ask.Of(f.want, layer, items, true, ask.Bounds{Values: values})...)
		}
		if layer == want.LayerAnnouncements && len(filters) > 0 {
			filters = f.demands.withVanish(l, filters)
		}
	}
	f.sendLive(l, filters, values)
}

// sendLive sends it.
func (f *following) sendLive(l *live.REQ, filters []nostr.Filter, values int) {
	limit := f.limits.Limit()
	how := live.Sending{Sub: f.newSub("l"), Now: f.now, Filters: filters, Limit: limit, Values: values}
	how.Manner = f.demands.manner(slices.ContainsFunc(filters, func(f nostr.Filter) bool { return f.Kinds == nil }))
	for i := range filters {
		filters[i] = how.Manner.Mode.With(filters[i])
		filters[i].Limit = &limit
	}
	f.side.Send(l, how)
	f.add(&request{sub: how.Sub, live: l, Manner: how.Manner})
	f.paced()
	f.effect(step.Request{Sub: how.Sub, Class: step.Live, Filters: filters})
}

// liveOpened begins the catch-up of the items.
func (f *following) liveOpened(l *live.REQ) {
	if l.Open {
		return
	}
	l.Opened(f.now.Mono)
	f.followed.Follow(l.Lots(), f.opened, f.now)
	if l.Whole {
		f.keeper.opened(l)
		return
	}
	f.catchUp(l.Lots(), step.Catchup)
}

// heard says whether the relay has answered a live REQ.
func (f *following) heard(l *live.REQ) bool { return f.requests[l.Sub].answered }

// closeUnanswered ends the live REQs that never got an EOSE, for others to ask
// for their items. Such a REQ may have been lost, and nothing else would tell.
func (f *following) closeUnanswered() {
	for _, l := range f.side.REQs() {
		if l.Open && !f.heard(l) {
			f.closeLive(l)
		}
	}
}

// closeLive ends a live REQ whose items something else follows or nobody wants.
func (f *following) closeLive(l *live.REQ) {
	f.closeReq(l.Sub)
	f.side.Drop(l)
	delete(f.requests, l.Sub)
	if l.Whole {
		f.keeper.closed()
	}
}

// shrink takes items that are wanted no more out of the books and closes live
// REQs that serve nothing.
func (f *following) shrink() {
	gone := func(it want.Item) bool { return !f.wanted.Has(it) }
	for _, l := range f.side.Shrink(f.want, gone) {
		f.closeLive(l)
	}
	f.stored.lose(gone)
}

// reopenMute sends live REQs again that count as open and were never answered:
// they may have been refused by a NOTICE that came late.
func (f *following) reopenMute() {
	mute := func(l *live.REQ) bool { return !f.heard(l) }
	f.cancelMergeOf(mute)
	for _, l := range f.side.REQs() {
		if mute(l) {
			f.closeLive(l)
			f.requeue(l.Lots(), l.Sent.Wall, f.now.Mono, l.Tries)
		}
	}
}

// reopenOutdated sends live REQs again that were opened without the kinds that a relay
// needs, or with kinds that it does not.
func (f *following) reopenOutdated() {
	if !f.side.Any(f.demands.outdated) {
		return
	}
	f.cancelMergeOf(f.demands.outdated)
	for _, l := range f.side.REQs() {
		if f.demands.outdated(l) {
			f.closeLive(l)
			f.requeue(l.Lots(), f.now.Wall, 0, 0)
		}
	}
}

// cancelMerge closes a REQ that has not replaced its parts yet.
func (f *following) cancelMerge() {
	if m := f.side.Cancel(f.now.Mono); m != nil {
		f.closeLive(m)
		f.requeue(m.Lots(), f.now.Wall, 0, 0)
	}
}

// cancelMergeOf does so if one of the REQs that it is about is such.
func (f *following) cancelMergeOf(is func(*live.REQ) bool) {
	if f.side.Merges(is) {
		f.cancelMerge()
	}
}

// askAgain has all that is wanted asked again with all that is stored, but for what is excepted. What is swept is tried live.
func (f *following) askAgain(class step.Class, except func(want.Item) bool) {
	placed := f.side.Anew(f.wanted.Has)
	for _, it := range f.inOrder() {
		if placed.Put(it) && !except(it) {
			f.side.Queue(f.lotOf(it))
		}
	}
	for _, l := range f.side.REQs() {
		switch {
		case !l.Open:
		case l.Whole:
			f.keeper.askAgain(l, class)
		default:
			f.catchUp(l.Lots(), class)
		}
	}
}

// unplace takes suspects out of live REQs, groups and sweeps, and from among
// those that wait. A live REQ that never was answered may be one that the relay
// takes no notice of for a suspect's sake: what else is in it is asked anew.
func (f *following) unplace(is func(want.Item) bool) {
	f.cancelMergeOf(func(l *live.REQ) bool { return l.Holds(is) })
	for _, l := range f.side.REQs() {
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
	f.side.Lose(is)
	f.shrink()
}
