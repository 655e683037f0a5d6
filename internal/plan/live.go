package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/ask"
	"github.com/graspd/graspd/internal/demands"
	"github.com/graspd/graspd/internal/followed"
	"github.com/graspd/graspd/internal/health"
	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/step"
	"github.com/graspd/graspd/internal/want"
)

// following is the live side of a connection. An item that is wanted stands in
// exactly one place: it waits, or it is in the lots of one live REQ, or it is swept.
type following struct {
	*desk
	*books
	*wire
	demands *demanded
	stored  beside
	all     forAll
	wary    wary

	live       reqs
	waiting    []*waiting
	sweeps     []*sweep      // in order of time
	rising     rising        // of those that are swept
	turn       time.Duration // what the last of them took
	shrunk     bool          // items were taken back since the last look
	mergeAfter time.Duration // a refused merge is not tried again before
	followed   followed.Times
}

// beside is what the live side asks of the other parts.
type beside interface {
	addGroups(l itemset.Lot, class step.Class, swept bool) // has stored events asked
	askSwept(l itemset.Lot, due time.Duration)             // likewise, where they are swept and their turn came
	dropGroups(match func(*group) bool)                    // has them asked no more
	lose(gone func(want.Item) bool)                        // has those of items asked no more
	eachSwept(visit func(*group))                          // the groups of swept items
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

// forAll is how everything is followed at once, where it is.
type forAll interface {
	followsAll() bool        // whether one live REQ is to follow everything
	standing() bool          // whether it was sent
	open(lots []itemset.Lot) // has lots followed by it
}

// keeper is who opened a live REQ that is not for items, and is told what becomes of it.
type keeper interface {
	opened(l *liveReq)
	closed()
	refused(l *liveReq, text string, from time.Time)
	decided(out policy.Outcome)
	askAgain(l *liveReq, class step.Class)
}

// reqs are live REQs in the order in which they were sent.
type reqs []*liveReq

// liveReq is one live REQ. What is looked at of every one whenever anything happens comes first, in one line of the cache.
type liveReq struct {
	demands.Manner
	apart   itemset.Apart
	open    bool
	vanish  bool // requests to vanish too
	filters int
	parts   []*liveReq // it is to stand in for these as well
	by      *liveReq   // is to stand in for this one
	openAt  time.Duration

	sub     string
	lots    []itemset.Lot
	size    ask.Size // with that of its parts
	keeper  keeper   // nil = the live side itself
	limit   int
	values  int
	longest int // list of its filters
	tries   int
	sent    health.Now
}

// values returns how many values a live filter carries: more where the usual
// number would not fit the relay's limits.
func (f *following) values() int {
	repos := len(f.want.Repos)
	return f.limits.ValuesFor(repos, f.wanted.Len()-repos)
}

// tend opens, merges and closes live REQs.
func (f *following) tend() {
	if f.shrunk {
		f.shrink()
	}
	for _, l := range slices.Clone(f.live) {
		if !l.open && f.now.Mono >= l.sent.Mono+liveOpenAfter {
			f.liveOpened(l)
		}
		if len(l.parts) > 0 && l.open && f.now.Mono >= l.openAt+mergeLinger {
			f.absorb(l)
		}
	}
	f.closeExcess()
	f.rise()
	f.openWaiting()
	f.mergeFilters()
}

// openWaiting opens live REQs for waiting items as far as the relay's limit
// goes; beyond it they are united with small ones, and what then does not fit
// is swept.
func (f *following) openWaiting() {
	if f.all.followsAll() {
		f.openAll()
		return
	}
	f.wary.suspectOdd()
	values := f.values()
	for !f.paused() {
		room := f.live.standing() < f.limits.Live()
		if !room && (f.unsettled() || f.now.Mono < f.mergeAfter) {
			return
		}
		load := f.fill(values)
		fits := load != nil && f.bears(load.size.Message(values))
		switch {
		case load == nil:
			return
		case room && fits:
			f.openLive(load, values)
		case fits && (f.unite(load, values) || f.unite(load, f.limits.Dense())):
		case f.evict(load, values):
		default:
			f.sweepInstead(load.lots)
		}
	}
}

// openAll has everything that waits followed by one live REQ.
func (f *following) openAll() {
	if f.paused() {
		return
	}
	if f.all.standing() {
		f.wary.suspectOdd()
	}
	var lots []itemset.Lot
	left := f.waiting[:0]
	for _, w := range f.waiting {
		if w.after > f.now.Mono {
			left = append(left, w)
			continue
		}
		lots = itemset.AddLot(lots, w.Lot)
	}
	clear(f.waiting[len(left):])
	f.waiting = left
	if len(lots) > 0 {
		f.all.open(lots)
	}
}

// closeAll closes all live REQs and has what they followed wait, with all that is stored.
func (f *following) closeAll() {
	for len(f.live) > 0 {
		l := f.live[0]
		f.closeLive(l)
		for _, x := range l.lots {
			x.Since = itemset.AllStored
			f.waiting = append(f.waiting, &waiting{Lot: x})
		}
	}
}

// catchUp has the stored events of lots asked.
func (f *following) catchUp(lots []itemset.Lot, class step.Class) {
	for _, x := range lots {
		f.stored.addGroups(x, class, false)
	}
}

// unsettled says that a live REQ is about to open or to be replaced.
func (f *following) unsettled() bool {
	return slices.ContainsFunc(f.live, func(l *liveReq) bool { return !l.open || len(l.parts) > 0 })
}

// openLive sends a live REQ for the lots of l and of its parts.
func (f *following) openLive(l *liveReq, values int) {
	var items [want.LayerRoots + 1][]want.Item
	for _, r := range append([]*liveReq{l}, l.parts...) {
		for _, x := range r.lots {
			items[x.Layer] = append(items[x.Layer], x.Items...)
		}
	}
	var filters []nostr.Filter
	for layer := want.LayerAnnouncements; layer <= want.LayerRoots; layer++ {
		if len(items[layer]) > 0 {
			filters = append(filters, ask.Of(f.want, layer, items[layer], true, ask.Bounds{Values: values})...)
		}
		if layer == want.LayerAnnouncements && len(filters) > 0 {
			filters = f.demands.withVanish(l, filters)
		}
	}
	f.sendLive(l, filters, values)
}

// sendLive sends it.
func (f *following) sendLive(l *liveReq, filters []nostr.Filter, values int) {
	l.limit = f.limits.Limit()
	l.Manner = f.demands.manner(slices.ContainsFunc(filters, func(f nostr.Filter) bool { return f.Kinds == nil }))
	for i := range filters {
		filters[i] = l.Mode.With(filters[i])
		filters[i].Limit = &l.limit
		for _, t := range filters[i].Tags {
			l.longest = max(l.longest, len(t.Values))
		}
	}
	l.sub, l.sent, l.values, l.filters = f.newSub("l"), f.now, values, len(filters)
	f.live = append(f.live, l)
	f.requests[l.sub] = &request{sub: l.sub, live: l, Manner: l.Manner}
	f.paced()
	f.effect(step.Request{Sub: l.sub, Class: step.Live, Filters: filters})
}

// liveOpened begins the catch-up of the items.
func (f *following) liveOpened(l *liveReq) {
	if l.open {
		return
	}
	l.open, l.openAt = true, f.now.Mono
	f.followed.Follow(l.lots, f.opened, f.now)
	if l.keeper != nil {
		l.keeper.opened(l)
		return
	}
	f.catchUp(l.lots, step.Catchup)
}

// closeUnanswered ends the live REQs that never got an EOSE, for others to ask
// for their items. Such a REQ may have been lost, and nothing else would tell.
func (f *following) closeUnanswered() {
	for _, l := range slices.Clone(f.live) {
		if r := f.requests[l.sub]; l.open && !r.answered {
			f.closeLive(l)
		}
	}
}

// closeLive ends a live REQ whose items something else follows or nobody wants.
func (f *following) closeLive(l *liveReq) {
	f.closeReq(l.sub)
	f.dropLive(l)
	if l.keeper != nil {
		l.keeper.closed()
	}
}

func (f *following) dropLive(l *liveReq) {
	f.live = slices.DeleteFunc(f.live, func(x *liveReq) bool { return x == l })
	delete(f.requests, l.sub)
}

// shrink takes items that are wanted no more out of the books and closes live
// REQs that serve nothing.
func (f *following) shrink() {
	f.shrunk = false
	gone := func(it want.Item) bool { return !f.wanted.Has(it) }
	for _, l := range slices.Clone(f.live) {
		l.lots = itemset.Prune(l.lots, gone)
		if len(l.lots) == 0 && len(l.parts) == 0 && l.by == nil {
			f.closeLive(l)
		}
	}
	for _, l := range f.live {
		l.size = f.sizeOf(l.lots)
		for _, r := range l.parts {
			l.size = l.size.Plus(f.sizeOf(r.lots))
		}
	}
	f.lose(gone)
	f.stored.lose(gone)
}

// lose takes items out of what waits and what is swept.
func (f *following) lose(gone func(want.Item) bool) {
	for _, w := range f.waiting {
		w.Items = slices.DeleteFunc(w.Items, gone)
	}
	f.waiting = slices.DeleteFunc(f.waiting, func(w *waiting) bool { return len(w.Items) == 0 })
	for _, s := range f.sweeps {
		s.Items = slices.DeleteFunc(s.Items, gone)
	}
	f.sweeps = slices.DeleteFunc(f.sweeps, func(s *sweep) bool { return len(s.Items) == 0 })
}

// takeBack sets the time of all that waits for a verdict on AUTH.
func (f *following) takeBack(at time.Duration) {
	for _, w := range f.waiting {
		if w.after == untilVerdict {
			w.after = at
		}
	}
}

// reopenMute sends live REQs again that count as open and were never answered:
// they may have been refused by a NOTICE that came late.
func (f *following) reopenMute() {
	mute := func(l *liveReq) bool { r := f.requests[l.sub]; return r != nil && !r.answered }
	f.cancelMergeOf(mute)
	for _, l := range slices.Clone(f.live) {
		if mute(l) {
			f.closeLive(l)
			f.requeue(l.lots, l.sent.Wall, f.now.Mono, l.tries)
		}
	}
}

// reopenOutdated sends live REQs again that were opened without the kinds that a relay
// needs, or with kinds that it does not.
func (f *following) reopenOutdated() {
	outdated := f.demands.outdated
	f.cancelMergeOf(outdated)
	for i := slices.IndexFunc(f.live, outdated); i >= 0; i = slices.IndexFunc(f.live, outdated) {
		l := f.live[i]
		f.closeLive(l)
		f.requeue(l.lots, f.now.Wall, 0, 0)
	}
}

// unwanted notes that an item is wanted no more; it is taken out of all places in one go.
func (f *following) unwanted(it want.Item) {
	f.rising.items.Drop(it)
	f.shrunk = true
}

// askAgain has all that is wanted asked again with all that is stored, but for what is excepted. What is swept is tried live.
func (f *following) askAgain(class step.Class, except func(want.Item) bool) {
	placed := f.place(f.wanted.Has)
	f.sweeps = nil
	for _, it := range f.inOrder() {
		if placed.Put(it) && !except(it) {
			f.queue(f.lotOf(it))
		}
	}
	for _, l := range f.live {
		if l.keeper != nil && l.open {
			l.keeper.askAgain(l, class)
		}
		for i := range l.lots {
			l.lots[i].Since = itemset.AllStored
		}
		if l.open && l.keeper == nil {
			f.catchUp(l.lots, class)
		}
	}
}

// place returns the items that are in live REQs or wait for one, from now on
// with all that is stored.
func (f *following) place(wanted func(want.Item) bool) *itemset.Set {
	var set itemset.Set
	note := func(l *itemset.Lot) {
		l.Since = itemset.AllStored
		for _, it := range l.Items {
			if wanted(it) {
				set.Put(it)
			}
		}
	}
	for _, l := range f.live {
		for i := range l.lots {
			note(&l.lots[i])
		}
	}
	for _, w := range f.waiting {
		note(&w.Lot)
	}
	return &set
}

// unplace takes suspects out of live REQs, groups and sweeps, and from among
// those that wait. A live REQ that never was answered may be one that the relay
// takes no notice of for a suspect's sake: what else is in it is asked anew.
func (f *following) unplace(is func(want.Item) bool) {
	f.cancelMergeOf(func(l *liveReq) bool { return itemset.Holds(l.lots, is) })
	for _, l := range slices.Clone(f.live) {
		if !itemset.Holds(l.lots, is) {
			continue
		}
		l.lots = itemset.Prune(l.lots, is)
		if r := f.requests[l.sub]; l.keeper == nil && r != nil && !r.answered && l.by == nil && len(l.parts) == 0 {
			f.closeLive(l)
			f.requeue(l.lots, l.sent.Wall, f.now.Mono, l.tries)
		}
	}
	f.stored.regroupWithout(is)
	f.lose(is)
	f.shrink()
}

// wake names the time at which live REQs need attention.
func (f *following) wake() time.Duration {
	w := never
	for _, l := range f.live {
		switch {
		case !l.open:
			w = min(w, l.sent.Mono+liveOpenAfter)
		case len(l.parts) > 0:
			w = min(w, l.openAt+mergeLinger)
		}
	}
	for _, x := range f.waiting {
		w = min(w, later(x.after, f.now.Mono))
	}
	if len(f.sweeps) > 0 {
		w = min(w, f.sweeps[0].at)
	}
	w = min(w, later(f.mergeAfter, f.now.Mono))
	if f.rising.look {
		w = min(w, later(f.rising.after, f.now.Mono))
	}
	return w
}
