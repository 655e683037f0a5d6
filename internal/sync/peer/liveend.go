package peer

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
	"github.com/graspd/graspd/internal/sync/want"
)

// liveRefused handles a live REQ that the relay refused or ended: its items are
// unconfirmed and go into other REQs, and what was stored from shortly before
// `from` on is asked again. unsure says that another one may have been meant.
func (f *following) liveRefused(l *livesubs.REQ, text string, from time.Time, unsure bool) {
	if l.Whole {
		f.unfiltered.refused(l, text, from)
		return
	}
	f.closeLive(l) // a relay may have kept some of its filters
	if f.planner.Lost(l, f.now.Mono) {
		return
	}
	after := f.now.Mono
	l.Calm(f.now.Mono)
	if l.Tries > 0 {
		after += backoff.RetryDelay(l.Tries)
	}
	why := refusal.Of(text)
	switch at, awaited := f.demands.wait(why, l.RequestMode); {
	case awaited:
		f.requeue(l.Lots(), from, at, l.Tries)
		return
	case f.demands.names.Doubted(l.RequestMode, text):
		f.requeue(l.Lots(), from, f.now.Mono, l.Tries)
		return
	case f.demands.withoutVanish(l, text, true), l.Kindless && f.demands.kinds.Refused(l.Mode, text),
		(demands.AboutKinds(text) || why == refusal.Restricted) && f.demands.withoutVanish(l, text, false):
		f.requeue(l.Lots(), from, f.now.Mono, l.Tries)
		return
	case why == refusal.Rate:
		f.stored.pause()
		after = f.pausedTill
	case why == refusal.TooMany:
		before := f.limits.Live()
		if f.fewer(l.Tries); f.limits.Live() < before {
			f.requeue(l.Lots(), from, f.now.Mono, l.Tries)
			return
		}
	case why == refusal.Full && f.boundTotal():
		f.requeue(l.Lots(), from, f.now.Mono, l.Tries)
		return
	case why == refusal.TooBig || why == refusal.Full:
		if l.Isolation == itemset.Shared {
			unsure = unsure || f.unopened()
			f.limits.Learn(text, l.Refused(unsure))
			switch {
			case f.limits.Exceeds(l.Refused(unsure)):
				f.planner.MergeSoon() // into smaller ones
				f.requeue(l.Lots(), from, f.now.Mono, l.Tries)
				return
			case unsure && l.Tries < mostUnsure:
				after = f.now.Mono + livesubs.OpenAfter
			}
		}
	case why == refusal.Auth, why == refusal.Restricted:
		after = f.now.Mono + refusedRetry
		f.reportBarred("a live subscription", text)
	case why == refusal.Value && f.suspects.suspect(itemset.ItemsOf(l.Lots()), false):
		f.requeue(f.suspects.withoutSuspects(l.Lots()), from, f.now.Mono, l.Tries)
		return
	default:
		if l.Tries > 0 {
			f.suspects.mistrust(itemset.ItemsOf(l.Lots()))
		}
		if !l.Open { // it may be the limit that is refused
			f.limits.OtherLimit(l.Limit)
		}
		after = f.now.Mono + backoff.RetryDelay(l.Tries+1)
	}
	f.requeue(l.Lots(), from, after, l.Tries+1)
}

// mostUnsure is how often a live REQ is sent again soon that may have been refused in place of another.
const mostUnsure = 3

// unopened reports whether there are live REQs that are not open yet.
func (f *following) unopened() bool {
	return slices.ContainsFunc(f.planner.REQs(), func(l *livesubs.REQ) bool { return !l.Open && f.requests[l.Sub] != nil })
}

// requeue takes items that no live REQ serves any more back among those that wait.
func (f *following) requeue(lots []itemset.Lot, from time.Time, after time.Duration, tries int) {
	for _, l := range f.unfollow(lots, from) {
		l.Isolation = f.isolation(l)
		f.planner.Requeue(l, after, tries)
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
			again := itemset.Lot{Layer: l.Layer, Isolation: l.Isolation, Since: l.Since, Items: []want.Item{it}}
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
	f.connState.fewer(f.planner.Len()+f.stored.openREQs(), tries)
	f.cancelMerge()
}

// closeExcess closes the smallest REQs where the relay turned out to bear fewer, and those with the oldest root events
// where all of them are too much together.
func (f *following) closeExcess() {
	for !f.paused() {
		l := f.planner.Excess(f.limits.Live())
		if l == nil {
			break
		}
		f.cancelMerge()
		f.closeLive(l)
		f.requeue(l.Lots(), f.now.Wall, 0, 0)
	}
	for !f.paused() {
		x, ok := f.planner.Unborne(f.facts())
		if !ok {
			return
		}
		f.pollInstead(x)
	}
}

// liveFailed handles a live event that could not be stored for a reason of our
// own: everything that its REQ serves is asked again later.
func (f *following) liveFailed(l *livesubs.REQ) {
	if l.Merging() {
		f.cancelMerge()
	}
	if f.requests[l.Sub] == nil {
		return
	}
	f.closeLive(l)
	l.AskedAgain()
	f.requeue(l.Lots(), time.Unix(int64(itemset.AllAgain), 0), f.now.Mono+backoff.RetryDelay(l.Tries+1), l.Tries+1)
}
