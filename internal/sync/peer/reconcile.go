package peer

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/paging"
	"github.com/graspd/graspd/internal/sync/peer/reconcile"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
	"github.com/graspd/graspd/internal/sync/peer/unsolicited"
)

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
	stored   *catchup   // of the connection
	support  negSupport // of the relay, which outlives connections
	logged   bool       // that it has none
	hangsUp  bool       // when it is asked to reconcile
	needed   int        // how many ids one reconciliation may wait for
	withheld reconcile.Withheld
	forged   unsolicited.Forged
	outsider bool // it is not to be shown what is here: nothing is reconciled on the connection
	brings   int  // the most events that one probe brought on it
}

// begin begins a connection. outsider says that the relay must not be shown what is here.
func (c *comparing) begin(stored *catchup, outsider bool) {
	c.stored, c.outsider, c.brings = stored, outsider, 0
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
		if r != nil && r.kind == asksNeg && t.group.byItems() && t.neg.Unheard() && c.support == negUnknown && c.now.Mono < r.progress+dropAfterOpen {
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

// reconcile takes a running task to its next action, as reconcile.Comparison has it.
func (c *comparing) reconcile(t *task) {
	if t.neg == nil {
		t.neg = reconcile.New(t.group.Since.Span())
	}
	n := t.neg
	switch n.Next(c.facts(t)) {
	case reconcile.Wait:
	case reconcile.LookUp:
		c.sift(t)
	case reconcile.Fetch:
		c.stored.fetch(t)
	case reconcile.WaitBehind:
		t.behind = true
		c.stored.putOff(t, c.now.Mono+silence)
	case reconcile.Probe:
		c.probe(t)
	case reconcile.GiveUp:
		c.pageWindows(t)
	case reconcile.Compare:
		c.load(t)
	case reconcile.PageMissing:
		t.pager = paging.New(t.group.Since.Span(), &c.stored.habits)
		c.stored.askPage(t)
	case reconcile.Done:
		if t.filter.IDs == nil { // or the relay never said that it has them
			c.counted.Undelivered += uint64(len(n.Missing()))
			c.withheld.Note(n.Missing(), n.Paged(), c.now.Mono)
		}
		t.tally.Complete = n.Complete()
		c.stored.taskDone(t)
	}
}

// facts are what the comparison of a task goes by.
func (c *comparing) facts(t *task) reconcile.Facts {
	x := reconcile.Facts{Now: c.now.Mono, Undecided: len(t.undecided) > 0, Refused: c.support == negRefused, Withheld: c.withheld}
	if w := t.group.unfiltered; w != nil {
		x.Withheld = w.hidden
	} else {
		x.Others = func() map[nostr.ID]struct{} { return c.stored.elsewhere(t) }
	}
	return x
}

// load has the local set loaded. The NEG-OPEN follows when the set is there.
func (c *comparing) load(t *task) {
	t.neg.Load()
	r := &request{sub: c.newSub("n"), kind: asksNeg, task: t, Manner: c.stored.demands.mannerOf(t, t.filter), progress: c.now.Mono}
	r.filter = r.Mode.With(t.neg.Window().Narrow(t.filter))
	c.stored.add(r)
	e := LoadSet{Sub: r.sub, Filter: r.filter}
	if !t.group.byItems() {
		e.Most = mostUnfiltered
	}
	c.effect(e)
}

// named returns the request of a reconciliation by its name, and the comparison.
func (c *comparing) named(sub string) (*request, *reconcile.Comparison) {
	if r := c.stored.requests[sub]; r != nil && r.kind == asksNeg {
		return r, r.task.neg
	}
	return nil, nil
}

func (c *comparing) loaded(in Loaded) {
	r, n := c.named(in.Sub)
	if r == nil || n.Opened() {
		return
	}
	if w := r.task.group.unfiltered; in.Large && w != nil {
		w.unfit("too much is here")
		return
	}
	if in.Set == nil {
		c.stored.taskFailed(r.task, "local set could not be read")
		return
	}
	n.Open(in.Set, in.Values, c.stored.limits.Frame())
	if w := r.task.group.unfiltered; w != nil {
		n.Bound(w.mayDiffer(r.task, in.Set.Len()))
	}
	c.stored.references.count(r.task)
	c.stored.paced()
	r.progress = c.now.Mono
	r.Authorized = c.stored.demands.auth.Granted()
	first := n.Start()
	c.counted.NegSent += hexLen(first)
	c.effect(OpenNeg{Sub: in.Sub, Filter: r.filter, Msg: first})
}

func (c *comparing) negMsg(sub string, msg []byte) {
	r, n := c.named(sub)
	if r == nil || !n.Opened() {
		return
	}
	t := r.task
	r.progress = c.now.Mono
	reply, err := n.Take(msg)
	c.counted.Rounds++
	c.counted.NegReceived += hexLen(msg)
	c.counted.NegSent += hexLen(reply)
	switch {
	case err != nil || n.Size().Awaited > c.needed:
		c.stored.abandon(t)
		c.report(LevelDebug, "a comparison (NIP-77) failed: graspd reads page by page", "cause", err)
		c.pageWindows(t)
	case reply != nil:
		c.effect(ContinueNeg{Sub: sub, Msg: reply})
	default:
		c.compared(t)
	}
}

// hexLen is how many bytes a message takes on the wire.
func hexLen(msg []byte) uint64 { return 2 * uint64(len(msg)) }

// compared records that all of a window is compared.
func (c *comparing) compared(t *task) {
	n := t.neg
	if c.support != negTruncates {
		c.support = negWorks
	}
	c.stored.abandon(t)
	told := n.Close()
	t.compared(told)
	c.counted.Equal += uint64(told.Equal)
	if c.support != negTruncates && told.Truncated {
		c.support = negTruncates
		c.report(LevelInfo, "the relay compares its newest events only: graspd reads the rest page by page")
	}
	if len(n.Needs()) > 0 {
		c.sift(t)
		return
	}
	c.stored.proceed(t)
}

// sift has the store look up which of the needed ids are here. A relay may take more events
// for a match than the filter says, such as events with the value under another tag: then the relay's
// set holds events that are here and that the local set of the filter does not hold.
func (c *comparing) sift(t *task) {
	r := &request{sub: c.newSub("k"), kind: asksStore, task: t, answered: true}
	c.stored.add(r)
	c.effect(Sift{Sub: r.sub, IDs: t.neg.Needs()})
}

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
	r, n := c.named(sub)
	if r == nil || !n.Opened() {
		return
	}
	t := r.task
	c.stored.endRequest(t)
	switch why := refusal.Of(text); {
	case c.stored.awaitAuth(t, why, r.Manner):
	case r.Kindless && c.stored.demands.kinds.Refused(r.Mode, text):
		c.stored.proceed(t)
	case why == refusal.Value && c.stored.suspects.suspectGroup(t.group):
	case refusal.NegTooBig(text, most):
		if n.Split(c.now.Wall) {
			c.stored.proceed(t)
			return
		}
		c.pageWindows(t)
	case why.Crowded():
		c.stored.pause()
		if t.group.unfiltered != nil {
			t.group.unfiltered.crowded(t, text)
			return
		}
		c.stored.park(t)
	case refusal.NegLost(text) && n.Reopen():
		c.stored.proceed(t)
	default:
		c.negFailed(t, text)
	}
}

// negSilent handles that the relay does not answer a NEG-OPEN or NEG-MSG.
func (c *comparing) negSilent(t *task) {
	c.stored.abandon(t)
	c.negFailed(t, "no answer")
}

// negFailed pages the filter of a task. Where the relay never answered a reconciliation, graspd pages all
// filters until the next full resync.
func (c *comparing) negFailed(t *task, why string) {
	if t.group.unfiltered != nil {
		t.group.unfiltered.unfit(why)
		return
	}
	if c.support == negUnknown && t.neg.Unheard() {
		c.noNegentropy(why)
	}
	c.pageWindows(t)
}

func (c *comparing) noNegentropy(why string) {
	c.support = negRefused
	if !c.logged {
		c.logged = true
		c.report(LevelInfo, "the relay does not compare sets (NIP-77): graspd reads it page by page", "cause", why)
	}
}

// pageWindows pages what is not compared of a task.
func (c *comparing) pageWindows(t *task) {
	t.pager = paging.New(t.neg.GiveUp(), &c.stored.habits)
	c.stored.proceed(t)
}
