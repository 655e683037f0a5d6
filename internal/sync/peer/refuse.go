package peer

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
	"github.com/graspd/graspd/internal/sync/want"
)

// closed handles a CLOSED: the request is retried, put off or given up, never
// waited for. After EOSE of a stored request it is normal.
func (p *Peer) closed(sub, text string) {
	p.conn.ended.Answered(sub)
	r := p.conn.requests[sub]
	switch {
	case r == nil || r.task != nil && r.answered:
	case r.kind == asksNeg:
		p.comparing.negErr(sub, text, 0)
	case r.live != nil:
		p.conn.liveRefused(r.live, text, p.now.Wall, false)
	default:
		p.effect(Forget{Sub: sub})
		p.conn.endRequest(r.task)
		p.conn.refused(r, text)
	}
}

// refused handles a stored request that the relay turned down.
func (c *catchup) refused(r *request, text string) {
	t := r.task
	why := refusal.Of(text)
	switch {
	case r.kind == asksTrial:
		c.suspects.trialRefused(r, text)
	case t.group.unfiltered != nil && t.group.unfiltered.turnedDown(r, why, text):
	case why == refusal.Rate:
		c.pause()
		c.park(t)
	case why == refusal.TooMany:
		c.live.fewer(t.tries)
		if !t.over { // a merge that this ended took its catch-up with it
			c.taskFailed(t, text)
		}
	case why == refusal.Full && (c.live.lowerTotal() || t.over):
		if !t.over { // a merge that this ended took its catch-up with it
			c.park(t)
		}
	case r.kind == asksPage && c.demands.upperRefused(r, text):
		c.leaveUpper(t)
	case r.kind == asksKinds: // it tells nothing
		t.doubted = true
		c.proceed(t)
	case why == refusal.Full && c.smaller(r):
	case why == refusal.Full && r.alone && c.live.giveUp():
		if !t.over {
			c.park(t)
		}
	case c.awaitAuth(r.task, why, r.RequestMode):
	case r.Kindless && c.demands.kinds.Refused(r.Mode, text):
		c.park(t)
	case why == refusal.TooBig:
		c.tooBig(r, text)
	case (why == refusal.Auth || why == refusal.Restricted) && c.extraFailed(t):
	case why == refusal.Auth, why == refusal.Restricted:
		c.putOff(t, c.now.Mono+refusedRetry)
		c.reportBarred("a request for stored events", text)
	case why == refusal.Value && c.suspects.suspectGroup(t.group):
	default:
		c.unanswered(r, text)
	}
}

// awaitAuth puts a task off until this relay is authenticated. It reports whether
// there is hope of that.
func (c *catchup) awaitAuth(t *task, why refusal.Kind, as demands.RequestMode) bool {
	at, ok := c.demands.wait(why, as)
	if ok {
		c.putOff(t, at)
	}
	return ok
}

const limitTooHigh = "limit too high"

// tooBig asks for less at once.
func (c *catchup) tooBig(r *request, text string) {
	t := r.task
	switch {
	case strings.Contains(refusal.Normal(text), limitTooHigh) && c.limits.HalvePage():
		c.proceed(t)
	case !r.canBeSmaller():
		c.taskFailed(t, text)
	case r.kind == asksIDs:
		c.limits.FewerIDs(len(r.batch.IDs()) / 2)
		c.proceed(t)
	default:
		c.limits.FewerValues(valuesOf(t) / 2)
		c.regroup(t.group)
	}
}

// smaller asks for less at once of a relay whose live REQs leave no room for a request. It reports whether there is less to ask for. It learns nothing
// for other requests: there may be room for them when a live REQ has ended.
func (c *catchup) smaller(r *request) bool {
	t := r.task
	g := t.group
	n := len(g.Items)
	switch {
	case r.kind == asksIDs && len(r.batch.IDs()) > 1:
		c.limits.FewerIDs(len(r.batch.IDs()) / 2)
		c.proceed(t)
	case r.kind == asksIDs, g.unfiltered != nil:
		return false
	case g.Layer == want.LayerReferences && valuesOf(t) > capacity.FewestValues:
		c.limits.FewerValues(valuesOf(t) / 2)
		c.references.drop()
	case n > 1:
		c.dropGroups(func(x *group) bool { return x == g })
		for _, half := range [][]want.Item{g.Items[:n/2], g.Items[n/2:]} {
			l := g.Lot
			l.Items = half
			c.addGroups(l, g.class, g.polled)
		}
	default:
		return false
	}
	return true
}

// valuesOf returns how many values the filter of a task lists.
func valuesOf(t *task) int {
	if len(t.filter.Tags) == 0 {
		return len(t.filter.Authors)
	}
	return len(t.filter.Tags[0].Values)
}

// regroup asks for the items of g in smaller portions.
func (c *catchup) regroup(g *group) {
	if g.Layer == want.LayerReferences {
		c.references.drop()
		return
	}
	c.dropGroups(func(x *group) bool { return x == g })
	c.addGroups(g.Lot, g.class, g.polled)
}

// notice reads a NOTICE, which names no request, and attributes it.
func (p *Peer) notice(text string) {
	why := refusal.OfNotice(text)
	p.conn.noticed = p.now.Mono
	if why == refusal.Value && p.valueRefused(text) {
		return
	}
	r := p.conn.newestNeg()
	ofNeg := r != nil && (why == refusal.Rate || !why.Crowded() && refusal.NegUnsupported(text))
	if ofNeg || r != nil && (why == refusal.Auth || why == refusal.Restricted) {
		p.effect(CloseNeg{Sub: r.sub})
		if why != refusal.Rate {
			p.conn.echo.Expect(text, p.now.Mono)
		}
		p.comparing.negErr(r.sub, text, 0)
		if why == refusal.Other || strings.Contains(refusal.Normal(text), "neg") {
			return
		}
	} else if p.conn.echo.Heard(text, p.now.Mono) {
		return
	}
	if !ofNeg && p.upperRefused(text) {
		return
	}
	switch why {
	case refusal.None:
	case refusal.Rate:
		p.conn.pause()
		p.conn.closes.Unheard(p.now.Mono)
		p.refuseUnopened(text)
	case refusal.TooMany, refusal.Full:
		if !p.conn.ended.Meant(p.now.Mono) {
			p.refuseNewest(text)
		}
	default:
		ended, live := p.conn.ended.Meant(p.now.Mono), p.conn.unopened()
		p.refuseUnopened(text)
		switch r := p.suspects.asked(); {
		case ofNeg:
		case r == nil && why == refusal.TooBig && ended:
		case r == nil:
			p.conn.refuseRunning(text, why == refusal.TooBig, live)
		case ended || live:
			p.suspects.dropTrial()
		default:
			p.conn.refuseStored(r, text)
		}
	}
}

// refuseRunning takes all stored requests without an answer for refused. Of a NOTICE that one is too large those are spared that can be no smaller, if it may
// be about another; live says that it may be about a live REQ, which alone has several filters. One that is spared wrongly is noticed by its silence.
func (c *catchup) refuseRunning(text string, tooLarge, live bool) {
	var all, large []*request
	for _, t := range c.running {
		if r := t.req; r != nil && r.kind != asksNeg && !r.answered {
			all = append(all, r)
			if r.canBeSmaller() {
				large = append(large, r)
			}
		}
	}
	switch {
	case !tooLarge || strings.Contains(refusal.Normal(text), limitTooHigh):
	case live && refusal.ExcessOf(text) == refusal.Filters:
		return
	case live || len(large) > 0:
		all = large
	}
	for i, r := range all {
		if i > 0 || live {
			c.ended.Add(r.sub, c.now.Mono)
		}
		if r.task.req == r {
			c.refuseStored(r, text)
		}
	}
}

// canBeSmaller reports whether what a request asks for can be asked in parts.
func (r *request) canBeSmaller() bool {
	if r.kind == asksIDs {
		return len(r.batch.IDs()) > 1
	}
	return valuesOf(r.task) > capacity.FewestValues
}

// refuseUnopened takes all live REQs that are not open for refused: which of
// them was meant is not known, and one that is wrongly believed open loses events.
func (p *Peer) refuseUnopened(text string) {
	reqs := slices.DeleteFunc(p.conn.planner.REQs(), func(l *livesubs.REQ) bool { return l.Open || p.conn.requests[l.Sub] == nil })
	for i, l := range reqs {
		if i > 0 {
			p.conn.ended.Add(l.Sub, p.now.Mono)
		}
		if p.conn.requests[l.Sub] != nil {
			p.conn.liveRefused(l, text, l.Sent.Wall, len(reqs) > 1)
		}
	}
}

// refuseNewest takes one request for one too many: the newest live REQ if it was
// sent just now, as some relays say so after its EOSE; else the newest stored one
// without EOSE; else the newest live one. A stored one that is taken for good
// wrongly is noticed by its silence, a live one is not.
func (p *Peer) refuseNewest(text string) {
	var last *request
	for _, t := range p.conn.running {
		if r := t.req; r != nil && r.kind != asksNeg && !r.answered && (last == nil || newerSub(r.sub, last.sub)) {
			last = r
		}
	}
	switch l := p.conn.planner.Newest(); {
	case l != nil && (last == nil || p.now.Mono < l.Sent.Mono+2*livesubs.OpenAfter):
		p.conn.liveRefused(l, text, l.Sent.Wall, false)
	case last != nil:
		p.conn.refuseStored(last, text)
	}
}

// refuseStored ends a stored request that a NOTICE was about.
func (c *catchup) refuseStored(r *request, text string) {
	c.closeReq(r.sub)
	c.endRequest(r.task)
	c.refused(r, text)
}

// newestNeg returns the reconciliation opened last that has no answer yet.
func (c *catchup) newestNeg() *request {
	var found *request
	for _, t := range c.running {
		r := t.req
		if r != nil && r.unheard() && (found == nil || newerSub(r.sub, found.sub)) {
			found = r
		}
	}
	return found
}

// newerSub compares the counters behind the one-letter prefixes.
func newerSub(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a[1:] > b[1:]
}

// unanswered puts a task off that failed for no known reason. When that was not
// the first time its values are doubted.
func (c *catchup) unanswered(r *request, why string) {
	if t := r.task; t.tries > 0 && r.kind != asksIDs && t.group.Layer == want.LayerRepositories {
		c.suspects.mistrust(t.group.Items)
	}
	c.taskFailed(r.task, why)
}

// valueRefused takes a NOTICE that speaks of a value, for whoever it may be
// about. It reports whether there is anybody.
func (p *Peer) valueRefused(text string) bool {
	if r := p.suspects.asked(); r != nil {
		p.conn.refuseStored(r, text)
		return true
	}
	found := false
	for _, t := range slices.Clone(p.conn.running) {
		r := t.req
		if r == nil || r.answered || r.kind == asksIDs || r.kind == asksStore || r.kind == asksNeg && !r.opened {
			continue
		}
		found = p.suspects.suspectGroup(t.group) || found
	}
	for _, l := range p.conn.planner.REQs() {
		if !l.Open && p.conn.requests[l.Sub] != nil && slices.ContainsFunc(l.Lots(), func(x itemset.Lot) bool { return x.Layer == want.LayerRepositories }) {
			p.conn.liveRefused(l, text, l.Sent.Wall, false)
			found = true
		}
	}
	return found
}

// upperRefused takes a NOTICE that may speak of tag names in upper case for being about the requests that have one. It reports whether there is any.
func (p *Peer) upperRefused(text string) bool {
	if !p.demands.names.Open() || !demands.MayBe(text) {
		return false
	}
	found := false
	for _, l := range p.conn.planner.REQs() {
		if r := p.conn.requests[l.Sub]; !l.Open && r != nil && !r.answered && l.RequestMode.Upper {
			p.conn.liveRefused(l, text, l.Sent.Wall, false)
			found = true
		}
	}
	for _, t := range slices.Clone(p.conn.running) {
		if r := t.req; r != nil && r.kind == asksPage && !r.answered && r.Upper {
			p.conn.refuseStored(r, text)
			found = true
		}
	}
	return found
}

// leaveUpper ends a task that asks for a tag name in upper case, which the relay refuses. It may have more than its other answers show.
func (c *catchup) leaveUpper(t *task) {
	t.unproven = true
	c.taskDone(t)
}
