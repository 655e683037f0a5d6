package peer

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/paging"
	"github.com/graspd/graspd/internal/sync/peer/reconcile"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
	"github.com/graspd/graspd/internal/sync/peer/unsolicited"
	"github.com/graspd/graspd/internal/sync/want"
)

// mostNeeded bounds the ids that one comparison needs, over all windows. Where it needs more, the rest is paged.
const mostNeeded = 250_000

// negSupport is what graspd knows of how a relay supports NIP-77.
type negSupport uint8

const (
	negUnknown negSupport = iota
	negWorks
	negTruncates // works for the newest events only
	negRefused
)

func (n negSupport) String() string {
	return [...]string{"unknown", "works", "truncates", "refused"}[n]
}

// comparing is the part that compares stored events with the relay (NIP-77), and knows how the relay answers that.
type comparing struct {
	*stepContext
	stored    *catchup   // of the connection
	support   negSupport // of the relay, which outlives connections
	logged    bool       // that it has none
	hangsUp   bool       // when it is asked to reconcile
	needed    int        // how many ids one comparison may wait for
	withheld  reconcile.Withheld
	forged    unsolicited.Forged
	outsider  bool // it is not to be shown what is here: nothing is reconciled on the connection
	answerCap int  // the most events that one probe brought on it
}

// begin begins a connection. outsider says that the relay must not be shown what is here.
func (c *comparing) begin(stored *catchup, outsider bool) {
	c.stored, c.outsider, c.answerCap = stored, outsider, 0
}

// end takes the end of the connection.
func (c *comparing) end() { c.stored, c.outsider = nil, false }

// forgive lets graspd ask the relay to reconcile once more; with all, also a relay that hung up when it was asked.
// Otherwise such a relay is not asked before the full resync, or a connection might never get that far.
func (c *comparing) forgive(all bool) {
	if all {
		c.hangsUp = false
	}
	if !c.hangsUp {
		c.support = negUnknown
	}
}

// hungUp takes the end of the connection. Where it came right after the first NEG-OPEN, the relay hangs up at NEG-OPENs.
func (c *comparing) hungUp() {
	for _, t := range c.stored.running {
		r := t.req
		if r != nil && r.unheard() && t.group.byItems() && c.support == negUnknown && c.now.Mono < r.progress+dropAfterOpen {
			c.noNegentropy("connection lost right after it was asked")
			c.hangsUp = true
		}
	}
}

// pagesOnly reports whether graspd reconciles nothing on this connection, whatever the relay supports.
func (c *comparing) pagesOnly() bool { return c.cfg.NoNegentropy || c.outsider }

// pages reports whether graspd pages the relay, instead of reconciling with it.
func (c *comparing) pages() bool { return c.pagesOnly() || c.support == negRefused }

// tells reports whether reconciliations tell what the relay has.
func (c *comparing) tells() bool { return !c.pages() && c.support != negTruncates }

// works reports whether the relay has shown that it reconciles.
func (c *comparing) works() bool { return c.support == negWorks }

// mayWork reports whether the relay may reconcile everything.
func (c *comparing) mayWork() bool {
	return !c.pagesOnly() && (c.support == negUnknown || c.support == negWorks)
}

// reconcile takes a running task to its next request, as its comparison orders it.
func (c *comparing) reconcile(t *task) {
	if t.neg == nil {
		t.from = c.recently()
		t.neg = reconcile.New(t.group.Since.Span(), c.needed)
	}
	switch o := t.neg.Next(c.facts(t)); {
	case o.LookUp != nil:
		r := &request{sub: c.newSub("k"), kind: asksStore, task: t, answered: true}
		c.stored.add(r)
		c.effect(Sift{Sub: r.sub, IDs: o.LookUp})
	case o.Fetch != nil:
		c.fetch(t, o.Fetch)
	case o.Behind:
		t.behind = true
		c.stored.putOff(t, c.now.Mono+silence)
	case o.Probe != nil:
		f := o.Probe.Span.Narrow(t.filter)
		f.Limit = new(o.Probe.Limit)
		c.stored.request(t, asksProbe, f)
	case o.Load != nil:
		c.load(t, *o.Load)
	case o.Page != nil:
		t.pager = paging.New(*o.Page, &c.stored.habits)
		c.stored.askPage(t)
	case o.Done:
		if t.filter.IDs == nil { // or the relay never said that it has them
			c.counted.Undelivered += uint64(len(t.neg.Missing()))
			c.withheld.Note(t.neg.Missing(), t.neg.Paged(), c.now.Mono)
		}
		t.tally.Complete = t.neg.Complete()
		c.stored.taskDone(t)
	}
}

// facts are what the comparison of a task goes by.
func (c *comparing) facts(t *task) reconcile.Facts {
	x := reconcile.Facts{
		Now: c.now.Mono, AtOnce: c.stored.atATime(), Withheld: c.withheld, Refused: c.support == negRefused, Truncates: c.support == negTruncates,
		AnswerCap: c.answerCap, LeftOut: t.unproven, Most: c.stored.limits.Page(), Sparse: t.group.Layer == want.LayerReferences,
		Proven: func(sawUnknown bool) bool { return c.stored.provenBefore(t.group, sawUnknown) },
	}
	if w := t.group.unfiltered; w != nil { // it is not paged
		x.Withheld = w.hidden
	} else {
		x.Most = min(x.Most, reconcile.MostProbed)
		x.Others = func() map[nostr.ID]struct{} { return c.stored.elsewhere(t) }
	}
	return x
}

// fetch requests events by id.
func (c *comparing) fetch(t *task, b *reconcile.Batch) {
	f := nostr.Filter{IDs: b.IDs(), Limit: new(len(b.IDs()))}
	if mode := c.stored.demands.requestModeOf(t, t.filter).Mode; mode != demands.NoKinds { // the filter's own, where it has some
		f.Kinds = mode.With(t.filter).Kinds
	}
	r := c.stored.request(t, asksIDs, f)
	r.Kindless = t.group.byItems()
	r.batch = b
}

// load has the local set loaded. The NEG-OPEN follows when the set is there.
func (c *comparing) load(t *task, window paging.Span) {
	r := &request{sub: c.newSub("n"), kind: asksNeg, task: t, RequestMode: c.stored.demands.requestModeOf(t, t.filter), progress: c.now.Mono}
	r.filter = r.Mode.With(window.Narrow(t.filter))
	c.stored.add(r)
	e := LoadSet{Sub: r.sub, Filter: r.filter}
	if !t.group.byItems() {
		e.Most = mostUnfiltered
	}
	c.effect(e)
}

// openNeg returns the request of a reconciliation that is open, by its name.
func (c *comparing) openNeg(sub string) *request {
	if r := c.stored.requests[sub]; r != nil && r.kind == asksNeg && r.opened {
		return r
	}
	return nil
}

func (c *comparing) loaded(in Loaded) {
	r := c.stored.requests[in.Sub]
	if r == nil || r.kind != asksNeg || r.opened {
		return
	}
	differ := 0
	switch w := r.task.group.unfiltered; {
	case in.Large && w != nil:
		w.unfit("too much is here")
		return
	case in.Set == nil:
		c.stored.taskFailed(r.task, "local set could not be read")
		return
	case w != nil:
		differ = max(1, w.mayDiffer(r.task, in.Set.Len()))
	}
	first := r.task.neg.Open(in.Set, in.Values, c.stored.limits.Frame(), differ)
	r.opened = true
	c.stored.references.count(r.task)
	c.stored.paced()
	r.progress = c.now.Mono
	r.Authorized = c.stored.demands.auth.Granted()
	c.counted.NegSent += hexLen(first)
	c.effect(OpenNeg{Sub: in.Sub, Filter: r.filter, Msg: first})
}

func (c *comparing) negMsg(sub string, msg []byte) {
	r := c.openNeg(sub)
	if r == nil {
		return
	}
	t := r.task
	r.progress, r.heard = c.now.Mono, true
	reply, told, err := t.neg.Take(msg)
	c.counted.Rounds++
	c.counted.NegReceived += hexLen(msg)
	c.counted.NegSent += hexLen(reply)
	if reply != nil && err == nil {
		c.effect(ContinueNeg{Sub: sub, Msg: reply})
		return
	}
	c.stored.abandon(t)
	if err != nil {
		c.report(LevelDebug, "a comparison (NIP-77) failed: graspd reads page by page", "cause", err)
		t.neg.GiveUp()
	} else {
		c.compared(t, told)
	}
	c.stored.proceed(t)
}

// hexLen is how many bytes a message takes on the wire.
func hexLen(msg []byte) uint64 { return 2 * uint64(len(msg)) }

// compared takes what the comparison of a window told.
func (c *comparing) compared(t *task, told *reconcile.Compared) {
	t.compared(*told)
	c.counted.Equal += uint64(told.Equal)
	switch {
	case c.support == negTruncates:
	case told.Truncated:
		c.support = negTruncates
		c.report(LevelInfo, "the relay compares its newest events only: graspd reads the rest page by page")
	default:
		c.support = negWorks
	}
}

// sifted takes which of the needed ids are here. A relay may take more events for a match than the filter says, such as events with the value under
// another tag: then the relay's set holds events that are here and that the local set of the filter does not hold.
func (c *comparing) sifted(in Sifted) {
	r := c.stored.requests[in.Sub]
	if r == nil || r.kind != asksStore {
		return
	}
	t := r.task
	c.stored.endRequest(t)
	if in.Failed {
		c.stored.taskFailed(t, "needed ids could not be looked up")
		return
	}
	in.Unknown = slices.DeleteFunc(in.Unknown, c.forged.Has)
	t.neg.LookedUp(c.stored.withoutLarge(t, in.Unknown), in.Known, c.facts(t).Others)
	c.stored.fetchEnded(t)
	c.stored.proceed(t)
}

// negErr handles that the relay ended a reconciliation: by NEG-ERR, NEG-CLOSE, CLOSED or NOTICE.
func (c *comparing) negErr(sub, text string, most int64) {
	r := c.openNeg(sub)
	if r == nil {
		return
	}
	t := r.task
	c.stored.endRequest(t)
	switch why := refusal.Of(text); {
	case c.stored.awaitAuth(t, why, r.RequestMode):
	case r.Kindless && c.stored.demands.kinds.Refused(r.Mode, text):
		c.stored.proceed(t)
	case why == refusal.Value && c.stored.suspects.suspectGroup(t.group):
	case refusal.NegTooBig(text, most):
		t.neg.TooBig(c.now.Wall)
		c.stored.proceed(t)
	case why.Crowded():
		c.stored.pause()
		if t.group.unfiltered != nil {
			t.group.unfiltered.crowded(t, text)
			return
		}
		c.stored.park(t)
	case refusal.NegLost(text) && t.neg.Reopen():
		c.stored.proceed(t)
	default:
		c.negFailed(r, text)
	}
}

// negSilent handles that the relay does not answer a NEG-OPEN or NEG-MSG.
func (c *comparing) negSilent(r *request) {
	c.stored.abandon(r.task)
	c.negFailed(r, "no answer")
}

// negFailed pages the filter of a task. Where the relay never answered a reconciliation, graspd pages all
// filters until the next full resync.
func (c *comparing) negFailed(r *request, why string) {
	t := r.task
	if t.group.unfiltered != nil {
		t.group.unfiltered.unfit(why)
		return
	}
	if c.support == negUnknown && r.unheard() {
		c.noNegentropy(why)
	}
	t.neg.GiveUp()
	c.stored.proceed(t)
}

func (c *comparing) noNegentropy(why string) {
	c.support = negRefused
	if !c.logged {
		c.logged = true
		c.report(LevelInfo, "the relay does not compare sets (NIP-77): graspd reads it page by page", "cause", why)
	}
}

// probeDone takes the complete answer to a probe.
func (c *comparing) probeDone(t *task) {
	brought, hidden := t.neg.Probed(c.answerCap)
	c.answerCap = max(c.answerCap, brought)
	if w := t.group.unfiltered; w != nil && hidden {
		w.unfit("it reconciles its newest events only")
		return
	}
	c.stored.proceed(t)
}
