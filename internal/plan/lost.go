package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/capacity"
	"github.com/graspd/graspd/internal/demands"
	"github.com/graspd/graspd/internal/dialing"
	"github.com/graspd/graspd/internal/health"
	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/refusal"
	"github.com/graspd/graspd/internal/want"
)

// liveRefused handles a live REQ that the relay refused or ended: its items are
// unconfirmed and go into other REQs, and what was stored from shortly before
// `from` on is asked again.
func (f *following) liveRefused(l *liveReq, text string, from time.Time) {
	if l.keeper != nil {
		l.keeper.refused(l, text, from)
		return
	}
	f.closeLive(l) // a relay may have kept some of its filters
	if f.partLost(l) {
		return
	}
	if len(l.parts) > 0 {
		for _, r := range l.parts {
			r.by = nil
		}
		f.mergeAfter = f.now.Mono + firstRetry
	}
	after := f.now.Mono
	if l.open && f.now.Mono >= l.openAt+dialing.StableAfter {
		l.tries = 0
	}
	if l.tries > 0 {
		after += health.RetryDelay(l.tries)
	}
	why := refusal.Of(text)
	switch at, awaited := f.demands.wait(why, l.Manner); {
	case awaited:
		f.requeue(l.lots, from, at, l.tries)
		return
	case f.demands.withoutVanish(l, text, true), l.Kindless && f.demands.kinds.Refused(l.Mode, text),
		(demands.AboutKinds(text) || why == refusal.Restricted) && f.demands.withoutVanish(l, text, false):
		f.requeue(l.lots, from, f.now.Mono, l.tries)
		return
	case why == refusal.Rate:
		f.stored.pause()
		after = f.pausedTill
	case why == refusal.TooMany:
		f.fewer(l.tries)
	case why == refusal.Full && f.full():
		f.requeue(l.lots, from, f.now.Mono, l.tries)
		return
	case why == refusal.TooBig || why == refusal.Full:
		if l.apart == itemset.Together {
			f.limits.Learn(text, capacity.Refused{Filters: l.filters, Longest: l.longest, Bytes: l.size.Message(l.values)})
		}
	case why == refusal.Auth, why == refusal.Restricted:
		after = f.now.Mono + refusedRetry
		f.reportBarred("a live subscription", text)
	case why == refusal.Value && f.wary.suspect(itemset.ItemsOf(l.lots), false):
		f.requeue(f.wary.withoutSuspects(l.lots), from, f.now.Mono, l.tries)
		return
	default:
		if l.tries > 0 {
			f.wary.mistrust(itemset.ItemsOf(l.lots))
		}
		if !l.open { // it may be the limit that is refused
			f.limits.OtherLimit(l.limit)
		}
		after = f.now.Mono + health.RetryDelay(l.tries+1)
	}
	f.requeue(l.lots, from, after, l.tries+1)
}

// partLost handles the end of a REQ that another one is to stand in for. It
// reports whether that one is open and simply takes over.
func (f *following) partLost(l *liveReq) bool {
	m := l.by
	if m == nil {
		return false
	}
	m.parts = slices.DeleteFunc(m.parts, func(r *liveReq) bool { return r == l })
	if m.open {
		m.adopt(l)
		return true
	}
	// What m asks for is a superset now; shrink closes it if nothing else is in it.
	f.shrunk = true
	return false
}

// requeue takes items that no live REQ serves any more back among those that wait.
func (f *following) requeue(lots []itemset.Lot, from time.Time, after time.Duration, tries int) {
	for _, l := range f.unfollow(lots, from) {
		l.Apart = f.apart(l)
		f.waiting = append(f.waiting, &waiting{Lot: l, after: after, tries: tries})
	}
}

// unfollow unconfirms items that no live REQ serves any more. It returns them as
// they are to be asked again: those that were confirmed from shortly before the
// time from on.
func (f *following) unfollow(lots []itemset.Lot, from time.Time) []itemset.Lot {
	since := itemset.SinceTime(from.Add(-f.cfg.QuickReconnect))
	f.stored.dropGroups(holding(lots))
	var out []itemset.Lot
	for _, l := range lots {
		for _, it := range l.Items {
			again := itemset.Lot{Layer: l.Layer, Apart: l.Apart, Since: l.Since, Items: []want.Item{it}}
			if f.confirmed.Drop(it) {
				again.Since = since
			}
			out = itemset.AddLot(out, again)
		}
	}
	return out
}

// fewer learns that the relay bears no more REQs than are left after one was refused as too many.
func (f *following) fewer(tries int) {
	f.wire.fewer(len(f.live)+f.stored.openREQs(), tries)
	f.cancelMerge()
}

// closeExcess closes the smallest REQs where the relay turned out to bear fewer, and those with the oldest root events
// where all of them are too much together.
func (f *following) closeExcess() {
	for !f.paused() && f.live.standing() > f.limits.Live() {
		f.cancelMerge()
		l := slices.MinFunc(f.live, func(a, b *liveReq) int { return a.size.Items() - b.size.Items() })
		f.closeLive(l)
		f.requeue(l.lots, f.now.Wall, 0, 0)
	}
	for !f.paused() && !f.bears(0) && f.shed(aboveAll) {
	}
}

// liveFailed handles a live event that could not be stored for a reason of our
// own: everything that its REQ serves is asked again later.
func (f *following) liveFailed(l *liveReq) {
	if l.by != nil || len(l.parts) > 0 {
		f.cancelMerge()
	}
	if f.requests[l.sub] == nil {
		return
	}
	f.closeLive(l)
	for i := range l.lots {
		l.lots[i].Since = min(l.lots[i].Since, itemset.AllAgain)
	}
	f.requeue(l.lots, time.Unix(int64(itemset.AllAgain), 0), f.now.Mono+health.RetryDelay(l.tries+1), l.tries+1)
}
