package peer

import (
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/coverage"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/peer/reconcile"
	"github.com/graspd/graspd/internal/sync/want"
)

// A relay that holds nearly what is held here, and little else, graspd asks as a whole: one live REQ without a filter follows the relay, and
// one reconciliation without a filter stands for all others. Such a reconciliation, made when nothing else is left to ask, tells whether a
// relay is like that. From its next connection or full resync on graspd asks it as a whole.

const (
	mostUnfiltered    = 1_000_000          // events here; with more graspd asks no relay as a whole
	unfilteredGapWait = 7 * 24 * time.Hour // after a live REQ without a filter did not bring everything
)

// unfiltered asks the relay as a whole, and knows whether that is worth it.
type unfiltered struct {
	*stepContext
	*itemState
	coverage   *coverage.Book
	peer       *Peer
	live       *following // of the connection
	stored     *catchup   // of the connection
	similarity similarity
	hidden     reconcile.Withheld // of comparisons as a whole
	unfilteredConn
}

// unfilteredConn is how far a connection is asked as a whole.
type unfilteredConn struct {
	on     bool          // one live REQ is to follow everything
	req    *livesubs.REQ // that REQ, once it was sent
	since  int64         // when that REQ opened, in Unix seconds
	ended  bool          // asking as a whole ended in the current step
	brings stream        // what that REQ brings
	growth growth        // of what is wanted, while everything is confirmed
	leave  time.Duration // asking as a whole is to end, and is not to be tried again for so long
}

// begin asks a connection as a whole from its beginning on, where the relay is known to be alike.
func (w *unfiltered) begin(live *following, stored *catchup) {
	w.live, w.stored, w.unfilteredConn = live, stored, unfilteredConn{}
	w.on = w.similarity.alike && w.bears()
}

// bears says whether there may be a reason to ask the relay as a whole.
func (w *unfiltered) bears() bool {
	return w.similarity.due(w.now.Mono) && w.wanted.Len() >= w.cfg.WholeFrom && w.peer.mayCompare() && w.live.limits.Live() > 0
}

// tend ends asking as a whole where that has turned out not to be worth it, and finds out about relays of which nothing is known.
func (w *unfiltered) tend() {
	if w.leave > 0 {
		w.unlike(w.leave, "it brings what is not wanted, or not what is")
		w.leave = 0
	}
	if w.on || w.similarity.alike || !w.peer.comparing.works() || !w.bears() || !w.peer.AllConfirmed() ||
		w.live.paused() || w.live.slow || len(w.stored.groups)+len(w.live.planner.Waiting()) > 0 || w.live.planner.Moving() {
		return
	}
	if !w.growth.calm(w.wanted.Len(), w.now.Mono) {
		return
	}
	w.similarity.after = w.now.Mono + w.cfg.Resync
	w.compare(nil, Catchup)
}

// wake names the time at which graspd may find out whether the relay is alike.
func (w *unfiltered) wake() time.Duration { return w.growth.wake(w.now.Mono) }

// open has lots followed by the one live REQ.
func (w *unfiltered) open(lots []itemset.Lot) {
	l := w.req
	if l == nil {
		l = livesubs.NewWhole(lots)
		w.req = l
		w.live.sendLive(l, []nostr.Filter{{}}, 1)
		return
	}
	for _, x := range lots {
		l.Add(x)
	}
	if l.Open {
		w.live.followed.Follow(lots, w.live.opened, w.now)
		w.live.catchUp(lots, Catchup)
	}
}

// asksAll says whether the one live REQ is open.
func (w *unfiltered) asksAll() bool { return w.req != nil && w.req.Open }

// opened has everything compared when the one live REQ has opened.
func (w *unfiltered) opened(l *livesubs.REQ) {
	w.since = w.now.Wall.Unix()
	for _, it := range w.live.suspects.acquit() {
		l.Add(w.live.lotOf(it))
	}
	w.compare(l.Lots(), Catchup)
}

// compare compares all that is here with all that the relay has. The comparison confirms the items of lots; without any it only tells
// whether the relay is alike.
func (w *unfiltered) compare(lots []itemset.Lot, class Class) {
	g := &group{Lot: itemset.Lot{Layer: want.LayerRoots, Items: itemset.ItemsOf(lots)}, class: class, unfiltered: w}
	w.stored.addBegun(g, &task{group: g})
}

// requestMode has everything compared without kinds, whatever the relay demands: a refusal ends it.
func (w *unfiltered) requestMode(m demands.RequestMode) demands.RequestMode {
	m.Kindless, m.Mode = false, demands.NoKinds
	return m
}

// mayDiffer returns in how many events both sides may differ, where so many are here in the window at hand.
func (w *unfiltered) mayDiffer(t *task, here int) int { return tolerance(t.here+here) - t.differ }

// missed says whether the live REQ for everything should have brought e, and did not.
func (w *unfiltered) missed(e *nostr.Event) bool {
	return w.on && w.live.followed.MissedByAll(w.since, e)
}

// become asks an open connection as a whole from now on, where the relay is known to be alike. The full resync asks again anyway for what
// live REQs follow by items.
func (w *unfiltered) become() {
	if w.on || !w.similarity.alike || !w.bears() {
		return
	}
	w.live.closeAll()
	w.on = true
}

// decided takes the verdict on an event that the live REQ brought.
func (w *unfiltered) decided(out policy.Outcome) {
	if w.brings.count(out) {
		w.leave = max(w.leave, w.cfg.Resync)
	}
}

// gap notes an event that no live REQ brought. Where one for everything is open, it should have.
func (w *unfiltered) gap() {
	if w.on {
		w.leave = unfilteredGapWait
	}
}

// end has everything followed and asked by items.
func (w *unfiltered) end() {
	w.stored.dropGroups(func(g *group) bool { return !g.byItems() })
	w.on, w.ended = false, true
	if l := w.req; l != nil {
		w.live.closeLive(l)
		w.live.requeue(l.Lots(), w.now.Wall, 0, 0)
	}
}

// closed takes the end of the live REQ.
func (w *unfiltered) closed() { w.on, w.req, w.ended = false, nil, true }

// hasEnded says whether asking as a whole has ended since the last call. Then its items wait for live REQs of their own.
func (w *unfiltered) hasEnded() bool {
	ended := w.ended
	w.ended = false
	return ended
}
