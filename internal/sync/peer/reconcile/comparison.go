// Package reconcile decides what graspd asks of a relay to have all that one filter matches there (NIP-77): which range of times to compare next,
// which of the shown events to fetch by id, whether the relay may have more than it showed, and what to page in the end. A comparison is a
// value: its caller sends the requests, reads the store, tells the time, and tells what came. Read Comparison, then Next.
package reconcile

import (
	"time"

	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/coverage"
	"github.com/graspd/graspd/internal/sync/peer/paging"
)

// MostOpens bounds the NEG-OPENs of one filter. A filter that needs more is paged.
const MostOpens = 4096

// Comparison is how far the comparison of one filter has come. It compares one window, a range of times, after the other, and gets
// the events of each window before it compares the next one. One goroutine uses a Comparison.
type Comparison struct {
	fetching
	windows  []paging.Span         // not compared yet; the last one is the next
	set      *negentropy.Set       // the events of the window that are here
	values   []int16               // of the set, as Loaded of package peer has them
	init     *negentropy.Initiator // of the open reconciliation
	have     map[[32]byte]struct{} // events of the set that the relay lacks
	edge     edge
	opens    int  // NEG-OPENs of the filter
	heard    bool // an answer to the NEG-OPEN of the window came
	reopened bool // the relay lost the session of the window once
	probe    bool // the window is compared, and the relay may have more below what it showed
	cut      bool // part of what the filter matches was paged, not compared
}

// New begins the comparison of a span of time.
func New(s paging.Span) *Comparison { return &Comparison{windows: []paging.Span{s}} }

// NewFetch begins to get events by id, and compares nothing. The relay is asked for them as long as something comes, as in the last round of
// a comparison.
func NewFetch(ids []nostr.ID) *Comparison {
	return &Comparison{fetching: fetching{need: ids, round: paged}}
}

// Action is what the caller does next for a comparison.
type Action uint8

// The actions.
const (
	Wait        Action = iota // wait until the door has decided what came
	LookUp                    // look the ids of Needs up in the store, and call LookedUp
	Fetch                     // request the ids that Ask returns
	WaitBehind                // wait until other comparisons have got the events that this one needs too
	Probe                     // do what Below returns
	Compare                   // call Load, load the local set of Window, and Open a reconciliation
	GiveUp                    // page the span that GiveUp returns, as the relay does not compare it
	PageMissing               // page the whole filter, for events that do not come by id
	Done                      // all that the relay gives is here
)

// Facts are what Next goes by.
type Facts struct {
	Now       time.Duration
	Undecided bool                         // the door still decides events that came by id
	Others    func() map[nostr.ID]struct{} // the ids that other comparisons request now or next; nil = this one does not wait for others
	Refused   bool                         // the relay does not compare
	Withheld  Withheld                     // the events that the relay is known not to give
}

// Next returns what the caller does next.
func (n *Comparison) Next(facts Facts) Action {
	switch {
	case len(n.need) > 0 && n.unread: // also what a comparison showed before it was interrupted
		return LookUp
	case len(n.need) > 0:
		return Fetch
	case facts.Undecided: // the comparison goes on when the last event is decided
		return Wait
	case n.ended() && facts.Others != nil && n.waitsBehind(facts.Others):
		return WaitBehind
	case n.ended() && n.secondRound():
		return LookUp
	case n.probe:
		return Probe
	case len(n.windows) > 0 && (facts.Refused || n.opens >= MostOpens):
		return GiveUp
	case len(n.windows) > 0:
		return Compare
	case n.lastRound(facts):
		return PageMissing
	}
	return Done
}

// ended reports whether no window is being compared: either the events of one are being fetched, or all are compared.
func (n *Comparison) ended() bool { return n.probe || len(n.windows) == 0 }

// Window returns the window at hand.
func (n *Comparison) Window() paging.Span { return n.windows[len(n.windows)-1] }

// Load begins the comparison of the window at hand.
func (n *Comparison) Load() {
	n.release()
	n.heard = false
}

// Open opens a reconciliation with the local set. frame bounds the bytes of a message.
func (n *Comparison) Open(set *negentropy.Set, values []int16, frame int) {
	n.set, n.values, n.init = set, values, negentropy.NewInitiator(set, frame)
	n.opens++
}

// Bound has the reconciliation fail where more events than differ are on one side only.
func (n *Comparison) Bound(differ int) { n.init.Bound(max(1, differ)) }

// Start returns the first message of the reconciliation.
func (n *Comparison) Start() []byte { return n.init.Start() }

// Opened reports whether a reconciliation of the window at hand is open.
func (n *Comparison) Opened() bool { return n.init != nil }

// Unheard reports whether a reconciliation of the window at hand is open, and no answer came yet.
func (n *Comparison) Unheard() bool { return n.Opened() && !n.heard }

// Take takes a message of the relay and returns the reply; a nil reply says that all of the window is compared.
func (n *Comparison) Take(msg []byte) (reply []byte, err error) {
	n.heard = true
	reply, have, need, err := n.init.Step(msg)
	n.learn(have, need)
	return reply, err
}

// learn notes what one message of the relay told: ids that the relay lacks, and ids that it has and this side lacks.
func (n *Comparison) learn(have, need [][32]byte) {
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

// Compared is what the comparison of one window told.
type Compared struct {
	coverage.Window      // what the relay has of what is here
	Differ          int  // events on one side only
	Equal           int  // events on both sides; none in a window that was compared before
	Truncated       bool // the relay compares its newest events only: it did not show an event that it has, and was asked for twice
}

// Close ends the reconciliation of a window that is compared, and returns what it told. The caller looks below the window next.
func (n *Comparison) Close() Compared {
	c := Compared{Window: coverage.Window{Set: n.set, Values: n.values, Lacks: n.have}, Differ: len(n.have) + len(n.need)}
	if hidden := n.edge.hidden; hidden != nil {
		c.Truncated = !n.shows(*hidden)
	} else {
		c.Equal = n.set.Len() - len(n.have)
	}
	n.dateLocal()
	n.release()
	n.probe, n.reopened = true, false
	return c
}

// release frees what only an open reconciliation needs.
func (n *Comparison) release() { n.set, n.values, n.init, n.have = nil, nil, nil, nil }

// Reopen records that the relay lost the session of the window, and reports whether the caller opens another one: only once.
func (n *Comparison) Reopen() bool {
	again := !n.reopened
	n.reopened = true
	return again
}

// Split halves a window that the relay finds too big: at the middle of the local set, or of the time where nothing is here.
// Split reports whether the window can be halved.
func (n *Comparison) Split(now time.Time) bool {
	w := n.Window()
	lo, hi := max(w.Since, oldestPlausible), min(w.Until, max(now.Unix(), oldestPlausible))
	if n.opens >= MostOpens || lo >= hi {
		return false
	}
	at := lo + (hi-lo)/2
	if k := n.set.Len(); k > 0 {
		at = min(max(int64(n.set.At(k/2).Time)-1, lo), hi-1)
	}
	n.windows = append(n.windows[:len(n.windows)-1], paging.Span{Since: w.Since, Until: at}, paging.Span{Since: at + 1, Until: w.Until})
	return true
}

// oldestPlausible is the creation time before which hardly any event lies (2020).
const oldestPlausible = 1_577_836_800

// GiveUp ends the comparison and returns the span that is not compared, for the caller to page. No event is got by id any more.
func (n *Comparison) GiveUp() paging.Span {
	s := n.windows[0]
	for _, w := range n.windows {
		s.Since, s.Until = min(s.Since, w.Since), max(s.Until, w.Until)
	}
	n.windows, n.probe, n.need = nil, false, nil
	n.cut = true
	n.release()
	return s
}

// Complete reports whether all was compared, and nothing was paged instead.
func (n *Comparison) Complete() bool { return !n.cut }

// advance takes the window at hand for done, and goes on to the next one.
func (n *Comparison) advance() {
	n.windows = n.windows[:len(n.windows)-1]
	n.probe, n.edge = false, edge{}
	n.round = first
	n.release()
}

// again has the window at hand compared once more. hidden is an event that the relay has and did not show.
func (n *Comparison) again(hidden *nostr.Stamp) {
	n.edge, n.probe = edge{hidden: hidden}, false
}

// Size counts what a comparison holds in memory.
type Size struct {
	Awaited        int // ids
	Windows, Opens int
	Lacks, Set     int // events of the local set that the relay lacks, and all of them; zero while no set is loaded
}

// Size returns how much the comparison holds. All of it is bounded.
func (n *Comparison) Size() Size {
	h := Size{Awaited: len(n.need) + len(n.late) + len(n.missing), Windows: len(n.windows), Opens: n.opens}
	if n.set != nil {
		h.Lacks, h.Set = len(n.have), n.set.Len()
	}
	return h
}
