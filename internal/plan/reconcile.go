package plan

import (
	"github.com/graspd/graspd/internal/negentropy"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/paging"
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

// mostOpens bounds the NEG-OPENs of one filter; then it is paged.
const mostOpens = 4096

// reconciliation is NIP-77 for one filter: compare one range of times after the
// other, each followed by fetching what is needed.
type reconciliation struct {
	fetching
	windows  []paging.Span // not compared yet: the last one next
	filter   nostr.Filter  // of the window being compared
	set      *negentropy.Set
	values   []int16 // of the set, as Loaded has them
	init     *negentropy.Initiator
	have     map[[32]byte]struct{} // what the relay lacks of the set
	edge     edge
	opens    int
	opened   bool // NEG-OPEN was sent
	heard    bool // an answer came
	reopened bool // after a lost session
	probe    bool // the window was compared and may be cut below
	cut      bool // not all was compared, the rest was paged
}

// comparing is how stored events are compared with the relay (NIP-77), and what is known of its answers.
type comparing struct {
	*desk
	stored   *catchup   // of the connection
	support  negSupport // of the relay, which outlives connections
	logged   bool       // that it has none
	hangsUp  bool       // when it is asked to reconcile
	needed   int        // how many ids one reconciliation may wait for
	withheld withheld
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
		if r != nil && r.kind == asksNeg && t.group.byItems() && t.neg.opened && !t.neg.heard && c.support == negUnknown && c.now.Mono < r.progress+dropAfterOpen {
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
		t.neg = &reconciliation{windows: []paging.Span{t.group.Since.Span()}}
	}
	n := t.neg
	switch {
	case len(n.need) > 0 && n.unread: // also what a comparison showed before it was interrupted
		c.sift(t)
	case len(n.need) > 0:
		c.stored.fetch(t)
	case len(n.settling) > 0: // goes on when the last one is decided
	case n.ended() && t.group.byItems() && c.stored.waitBehind(t):
	case n.ended() && n.secondRound():
		c.sift(t)
	case n.probe:
		c.probe(t)
	case len(n.windows) > 0 && (c.support == negRefused || n.opens >= mostOpens):
		c.pageWindows(t)
	case len(n.windows) > 0:
		c.load(t)
	case c.stored.lastRound(t):
		t.pager = paging.New(t.group.Since.Span())
		c.stored.askPage(t)
	default:
		if t.filter.IDs == nil { // or the relay never said that it has them
			c.counted.Undelivered += uint64(len(n.missing))
			c.withheld.note(n.missing, n.round == 2, c.now.Mono)
		}
		t.tally.Complete = !n.cut
		c.stored.taskDone(t)
	}
}

// load asks for the local set first; the NEG-OPEN follows when it is there.
func (c *comparing) load(t *task) {
	n := t.neg
	n.opened, n.heard, n.have = false, false, nil
	t.req = &request{sub: c.newSub("n"), kind: asksNeg, task: t, progress: c.now.Mono}
	t.req.Manner = c.stored.demands.mannerOf(t, t.filter)
	c.stored.requests[t.req.sub] = t.req
	n.filter = t.req.Mode.With(n.window().Narrow(t.filter))
	e := step.LoadSet{Sub: t.req.sub, Filter: n.filter}
	if t.group.course != nil {
		e.Most = t.group.course.most()
	}
	c.effect(e)
}

// ended says that nothing is being compared: what a window showed is being fetched, or all is compared.
func (n *reconciliation) ended() bool { return n.probe || len(n.windows) == 0 }

func (n *reconciliation) window() paging.Span { return n.windows[len(n.windows)-1] }

// session returns the open reconciliation of sub.
func (c *comparing) session(sub string) (*request, *reconciliation) {
	if r := c.stored.requests[sub]; r != nil && r.kind == asksNeg {
		return r, r.task.neg
	}
	return nil, nil
}

func (c *comparing) loaded(in step.Loaded) {
	r, n := c.session(in.Sub)
	if r == nil || n.opened {
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
	n.values = in.Values
	n.set, n.init, n.opened = in.Set, negentropy.NewInitiator(in.Set, c.stored.limits.Frame()), true
	if course := r.task.group.course; course != nil {
		n.init.Bound(max(1, course.mayDiffer(r.task)))
	}
	n.opens++
	c.stored.references.count(r.task)
	c.stored.paced()
	r.progress = c.now.Mono
	r.Authorized = c.stored.demands.auth.Granted()
	first := n.init.Start()
	c.counted.NegSent += hexLen(first)
	c.effect(step.OpenNeg{Sub: in.Sub, Filter: n.filter, Msg: first})
}

func (c *comparing) negMsg(sub string, msg []byte) {
	r, n := c.session(sub)
	if r == nil || !n.opened {
		return
	}
	t := r.task
	n.heard, r.progress = true, c.now.Mono
	reply, have, need, err := n.init.Step(msg)
	n.learn(have, need)
	c.counted.Rounds++
	c.counted.NegReceived += hexLen(msg)
	c.counted.NegSent += hexLen(reply)
	switch {
	case err != nil || len(n.need)+len(n.late)+len(n.missing) > c.needed:
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
	t.tallyWindow()
	t.differ, t.held = t.differ+len(n.have)+len(n.need), t.held+n.set.Len()
	if n.edge.hidden == nil {
		c.counted.Equal += uint64(n.set.Len() - len(n.have))
	}
	c.doubted(n)
	n.dateLocal()
	n.release()
	n.probe = true
	n.reopened = false
	if len(n.need) > 0 {
		c.sift(t)
		return
	}
	c.stored.proceed(t)
}

// sift has the needed ids looked up here. A relay may take more for a match
// than the filter says, such as events with the value under another tag: its
// set then holds what the local set for the filter does not, though it is here.
func (c *comparing) sift(t *task) {
	t.req = &request{sub: c.newSub("k"), kind: asksStore, task: t, answered: true}
	c.stored.requests[t.req.sub] = t.req
	c.effect(step.Sift{Sub: t.req.sub, IDs: t.neg.need})
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
	t.neg.lookedUp(in.Unknown)
	for _, x := range in.Known {
		t.neg.edge.date(x.ID, x.At)
	}
	if t.neg.round == 0 && t.group.byItems() {
		t.neg.leave(c.stored.elsewhere(t))
	}
	c.stored.fetchEnded(t)
	c.stored.proceed(t)
}

// negErr handles an error of a reconciliation, under whatever label it comes.
// The relay has ended the session.
func (c *comparing) negErr(sub, text string, most int64) {
	r, n := c.session(sub)
	if r == nil || !n.opened {
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
		c.split(t)
	case why.Crowded():
		c.stored.pause()
		if t.group.course != nil {
			t.group.course.crowded(t, text)
			return
		}
		c.stored.park(t)
	case refusal.NegLost(text) && !n.reopened:
		n.reopened = true
		c.stored.proceed(t)
	default:
		c.negFailed(t, text)
	}
}

// split halves the window that the relay finds too big: where the local set
// has its middle, or in time.
func (c *comparing) split(t *task) {
	n := t.neg
	w := n.window()
	lo, hi := max(w.Since, oldestPlausible), min(w.Until, max(c.now.Wall.Unix(), oldestPlausible))
	if n.opens >= mostOpens || lo >= hi {
		c.pageWindows(t)
		return
	}
	at := lo + (hi-lo)/2
	if k := n.set.Len(); k > 0 {
		at = min(max(int64(n.set.At(k/2).Time)-1, lo), hi-1)
	}
	n.windows = append(n.windows[:len(n.windows)-1], paging.Span{Since: w.Since, Until: at}, paging.Span{Since: at + 1, Until: w.Until})
	c.stored.proceed(t)
}

// oldestPlausible is the creation time before which hardly any event lies (2020).
const oldestPlausible = 1_577_836_800

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
	if c.support == negUnknown && !t.neg.heard {
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
	n := t.neg
	s := n.windows[0]
	for _, w := range n.windows {
		s.Since, s.Until = min(s.Since, w.Since), max(s.Until, w.Until)
	}
	n.windows, n.probe = nil, false
	n.giveUp()
	n.cutShort()
	t.pager = paging.New(s)
	c.stored.proceed(t)
}

// doubted takes a second comparison: what the relay had not shown and does not
// show even now proves that it compares its newest events only.
func (c *comparing) doubted(n *reconciliation) {
	if n.edge.hidden == nil || n.shows(*n.edge.hidden) || c.support == negTruncates {
		return
	}
	c.support = negTruncates
	c.report(step.Info, "the relay compares its newest events only: graspd reads the rest page by page")
}

// next goes on to the next window.
func (n *reconciliation) next() {
	n.windows = n.windows[:len(n.windows)-1]
	n.probe, n.edge = false, edge{}
	n.anew()
	n.release()
}

// release frees what is not needed any more once a window is compared.
func (n *reconciliation) release() { n.set, n.values, n.init, n.have = nil, nil, nil, nil }

// cutShort notes that not all is compared: the rest is paged.
func (n *reconciliation) cutShort() { n.cut = true }

// again has the window at hand compared once more.
func (n *reconciliation) again(hidden *step.Dated) {
	n.edge, n.probe = edge{hidden: hidden}, false
}

// learn takes what one message of a reconciliation told.
func (n *reconciliation) learn(have, need [][32]byte) {
	if n.have == nil {
		n.have = make(map[[32]byte]struct{}, len(have))
	}
	for _, id := range have {
		n.have[id] = struct{}{}
	}
	for _, id := range need {
		n.lack(nostr.ID(id))
		n.edge.show(nostr.ID(id))
		n.edge.news = true
	}
}
