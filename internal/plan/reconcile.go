package plan

import (
	"github.com/graspd/graspd/internal/compare"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/refusal"
	"github.com/graspd/graspd/internal/step"
)

// negSupport is what is known of a relay's NIP-77.
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

// comparing is how stored events are compared with the relay (NIP-77), and what is known of its answers.
type comparing struct {
	*desk
	stored   *catchup   // of the connection
	support  negSupport // of the relay, which outlives connections
	logged   bool       // that it has none
	hangsUp  bool       // when it is asked to reconcile
	needed   int        // how many ids one reconciliation may wait for
	withheld compare.Withheld
	outsider bool // it is not to be shown what is here: nothing is reconciled on the connection
	brings   int  // the most events that one probe brought on it
}

// begin begins a connection. One that hangs up when it is asked to reconcile is not asked again before
// the full resync, or it might never get so far.
func (c *comparing) begin(stored *catchup, outsider bool) {
	c.stored, c.outsider, c.brings = stored, outsider, 0
}

// end ends the connection.
func (c *comparing) end() { c.stored, c.outsider = nil, false }

// forgive has the relay asked once more; with all that is known forgotten also where it hung up for that.
func (c *comparing) forgive(all bool) {
	if all {
		c.hangsUp = false
	}
	if !c.hangsUp {
		c.support = negUnknown
	}
}

// hungUp takes the end of a connection, for which a reconciliation that was just opened is to blame.
func (c *comparing) hungUp() {
	for _, t := range c.stored.running {
		r := t.req
		if r != nil && r.kind == asksNeg && t.group.byItems() && t.neg.Unheard() && c.support == negUnknown && c.now.Mono < r.progress+dropAfterOpen {
			c.noNegentropy("connection lost right after it was asked")
			c.hangsUp = true
		}
	}
}

// recall takes from a record that the relay hangs up when it is asked to reconcile.
func (c *comparing) recall() { c.support, c.hangsUp = negRefused, true }

// pagesOnly says whether nothing is reconciled on this connection, whatever the relay can do.
func (c *comparing) pagesOnly() bool { return c.cfg.NoNegentropy || c.outsider }

// pages says whether the relay is paged, as it does not reconcile.
func (c *comparing) pages() bool { return c.pagesOnly() || c.support == negRefused }

// tells says whether reconciliations tell what the relay has.
func (c *comparing) tells() bool { return !c.pages() && c.support != negTruncates }

// works says whether the relay has shown that it compares.
func (c *comparing) works() bool { return c.support == negWorks }

// mayWork says whether the relay may compare everything.
func (c *comparing) mayWork() bool {
	return !c.pagesOnly() && (c.support == negUnknown || c.support == negWorks)
}

// reconcile takes a task to its next step: fetch, compare, ask again, or end.
func (c *comparing) reconcile(t *task) {
	if t.neg == nil {
		t.compares(compare.New(t.group.Since.Span()))
	}
	n := t.neg
	switch n.Next(c.terms(t)) {
	case compare.Wait:
	case compare.LookUp:
		c.sift(t)
	case compare.Fetch:
		c.stored.fetch(t)
	case compare.WaitBehind:
		t.waitBehind()
		c.stored.putOff(t, c.now.Mono+silence)
	case compare.Probe:
		c.probe(t)
	case compare.GiveUp:
		c.pageWindows(t)
	case compare.Compare:
		c.load(t)
	case compare.PageMissing:
		t.page(t.group.Since.Span())
		c.stored.askPage(t)
	case compare.Done:
		if t.filter.IDs == nil { // or the relay never said that it has them
			c.counted.Undelivered += uint64(len(n.Missing()))
			c.withheld.Note(n.Missing(), n.Paged(), c.now.Mono)
		}
		t.tally.Complete = n.Complete()
		c.stored.taskDone(t)
	}
}

// terms are what the next step of a comparison goes by.
func (c *comparing) terms(t *task) compare.Terms {
	x := compare.Terms{Now: c.now.Mono, Settling: len(t.settling) > 0, Refused: c.support == negRefused, Withheld: c.withheld}
	if course := t.group.course; course != nil {
		x.Withheld = course.missing()
	} else {
		x.Others = func() map[nostr.ID]struct{} { return c.stored.elsewhere(t) }
	}
	return x
}

// load asks for the local set first; the NEG-OPEN follows when it is there.
func (c *comparing) load(t *task) {
	t.neg.Load()
	r := &request{sub: c.newSub("n"), kind: asksNeg, task: t, Manner: c.stored.demands.mannerOf(t, t.filter), progress: c.now.Mono}
	r.filter = r.Mode.With(t.neg.Window().Narrow(t.filter))
	c.stored.add(r)
	e := step.LoadSet{Sub: r.sub, Filter: r.filter}
	if t.group.course != nil {
		e.Most = t.group.course.most()
	}
	c.effect(e)
}

// session returns the open reconciliation of sub.
func (c *comparing) session(sub string) (*request, *compare.Comparison) {
	if r := c.stored.requests[sub]; r != nil && r.kind == asksNeg {
		return r, r.task.neg
	}
	return nil, nil
}

func (c *comparing) loaded(in step.Loaded) {
	r, n := c.session(in.Sub)
	if r == nil || n.Opened() {
		return
	}
	if course := r.task.group.course; in.Large && course != nil {
		course.unfit("too much is here")
		return
	}
	if in.Set == nil {
		c.stored.taskFailed(r.task, "local set could not be read")
		return
	}
	n.Open(in.Set, in.Values, c.stored.limits.Frame())
	if course := r.task.group.course; course != nil {
		n.Bound(course.mayDiffer(r.task, in.Set.Len()))
	}
	c.stored.references.count(r.task)
	c.stored.paced()
	r.progress = c.now.Mono
	r.Authorized = c.stored.demands.auth.Granted()
	first := n.Start()
	c.counted.NegSent += hexLen(first)
	c.effect(step.OpenNeg{Sub: in.Sub, Filter: r.filter, Msg: first})
}

func (c *comparing) negMsg(sub string, msg []byte) {
	r, n := c.session(sub)
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
	case err != nil || n.Held().Awaited > c.needed:
		c.stored.abandon(t)
		c.report(step.Debug, "a comparison (NIP-77) failed: graspd reads page by page", "cause", err)
		c.pageWindows(t)
	case reply != nil:
		c.effect(step.ContinueNeg{Sub: sub, Msg: reply})
	default:
		c.compared(t)
	}
}

// hexLen is how many bytes a message takes on the wire.
func hexLen(msg []byte) uint64 { return 2 * uint64(len(msg)) }

// compared ends one window.
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
		c.report(step.Info, "the relay compares its newest events only: graspd reads the rest page by page")
	}
	if len(n.Needs()) > 0 {
		c.sift(t)
		return
	}
	c.stored.proceed(t)
}

// sift has the needed ids looked up here. A relay may take more for a match
// than the filter says, such as events with the value under another tag: its
// set then holds what the local set for the filter does not, though it is here.
func (c *comparing) sift(t *task) {
	r := &request{sub: c.newSub("k"), kind: asksStore, task: t, answered: true}
	c.stored.add(r)
	c.effect(step.Sift{Sub: r.sub, IDs: t.neg.Needs()})
}

func (c *comparing) sifted(in step.Sifted) {
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
	t.neg.LookedUp(in.Unknown, in.Known, c.terms(t).Others)
	c.stored.fetchEnded(t)
	c.stored.proceed(t)
}

// negErr handles an error of a reconciliation, under whatever label it comes.
// The relay has ended the session.
func (c *comparing) negErr(sub, text string, most int64) {
	r, n := c.session(sub)
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
		if t.group.course != nil {
			t.group.course.crowded(t, text)
			return
		}
		c.stored.park(t)
	case refusal.NegLost(text) && n.Reopen():
		c.stored.proceed(t)
	default:
		c.negFailed(t, text)
	}
}

// negSilent handles a NEG-OPEN or NEG-MSG without answer.
func (c *comparing) negSilent(t *task) {
	c.stored.abandon(t)
	c.negFailed(t, "no answer")
}

// negFailed reads the filter by paging, and all others until the next full
// resync if the relay never answered a reconciliation.
func (c *comparing) negFailed(t *task, why string) {
	if t.group.course != nil {
		t.group.course.unfit(why)
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
		c.report(step.Info, "the relay does not compare sets (NIP-77): graspd reads it page by page", "cause", why)
	}
}

// pageWindows reads what has not been compared by paging.
func (c *comparing) pageWindows(t *task) {
	t.page(t.neg.GiveUp())
	c.stored.proceed(t)
}
