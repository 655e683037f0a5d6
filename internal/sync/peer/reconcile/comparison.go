// Package reconcile decides what graspd asks of a relay to have all that one filter matches there (NIP-77): which range of times to compare next,
// which of the shown events to fetch by id, whether the relay may have more than it showed, and what to page in the end. A comparison is a
// value: it orders requests, pages and reading of the store, and is told what came of them and what the time is. Read Comparison, then Next.
package reconcile

import (
	"errors"
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
	whole    paging.Span           // all that is compared
	most     int                   // ids that it may wait for
	windows  []paging.Span         // not compared yet; the last one is the next
	page     *paging.Span          // to be paged next
	asked    *Probe                // under way
	set      *negentropy.Set       // the events of the window that are here
	values   []int16               // of the set, as Loaded of package peer has them
	init     *negentropy.Initiator // of the open reconciliation
	have     map[[32]byte]struct{} // events of the set that the relay lacks
	oldest   oldestShown
	opens    int  // NEG-OPENs of the filter
	reopened bool // the relay lost the session of the window once
	probe    bool // the window is compared, and the relay may have more below what it showed
	cut      bool // part of what the filter matches was paged, not compared
}

// New begins the comparison of a span of time, which may wait for so many ids at most.
func New(s paging.Span, most int) *Comparison {
	return &Comparison{whole: s, most: most, windows: []paging.Span{s}}
}

// NewFetch begins to get events by id, and compares nothing. The relay is asked for them as long as something comes, as in the last round of
// a comparison.
func NewFetch(ids []nostr.ID) *Comparison {
	return &Comparison{fetching: fetching{need: ids, round: paged}}
}

// Order is what the caller does next for a comparison. At most one field is set; without one, the caller waits until the door has decided what came
// by id.
type Order struct {
	LookUp []nostr.ID   // look these ids up in the store, and call LookedUp
	Fetch  *Batch       // request its ids by a REQ
	Behind bool         // wait until other comparisons have got the events that this one needs too
	Probe  *Probe       // send it as a REQ, call Received for what comes, and then Probed
	Load   *paging.Span // load the local set of this span, and call Open
	Page   *paging.Span // page this span of the filter, and call Received for what comes
	Done   bool         // all that the relay gives is here
}

// Facts are what Next goes by.
type Facts struct {
	Now       time.Duration
	AtOnce    int                          // ids that one REQ requests
	Others    func() map[nostr.ID]struct{} // the ids that other comparisons request now or next; nil = this one does not wait for others
	Withheld  Withheld                     // the events that the relay is known not to give
	Refused   bool                         // the relay does not compare
	Truncates bool                         // the relay compares its newest events only
	LeftOut   bool                         // an event that the relay showed is not asked for, as it ends connections: a probe would bring it
	AnswerCap int                          // the most events that one probe brought
	Most      int                          // how many events a probe may ask for
	Sparse    bool                         // mostly no event matches the filter: a relay that shows none is believed
	Proven    func(sawUnknown bool) bool   // whether all was read in full before, where the relay showed unknown events or showed none
}

// Next returns what the caller does next. Nothing of what the order before asked for may be under way, but batches whose events the door decides.
func (n *Comparison) Next(facts Facts) Order {
	for n.asked = nil; ; {
		switch {
		case n.page != nil:
			s := n.page
			n.page = nil
			return Order{Page: s}
		case len(n.need) > 0 && n.unread: // also what a comparison showed before it was interrupted
			return Order{LookUp: n.need}
		case len(n.need) > 0:
			return Order{Fetch: n.ask(facts.AtOnce)}
		case len(n.batches) > 0: // the comparison goes on when the last event is decided
			return Order{}
		case n.ended() && facts.Others != nil && n.waitsBehind(facts.Others):
			return Order{Behind: true}
		case n.ended() && n.secondRound():
		case n.probe:
			if n.below(facts); n.asked != nil {
				return Order{Probe: n.asked}
			}
		case len(n.windows) > 0 && (facts.Refused || n.opens >= MostOpens):
			n.GiveUp()
		case len(n.windows) > 0:
			w := n.window()
			n.release()
			return Order{Load: &w}
		case n.lastRound(facts):
			n.page = &n.whole
		default:
			return Order{Done: true}
		}
	}
}

// ended reports whether no window is being compared: either the events of one are being fetched, or all are compared.
func (n *Comparison) ended() bool { return n.probe || len(n.windows) == 0 }

func (n *Comparison) window() paging.Span { return n.windows[len(n.windows)-1] }

// Open opens a reconciliation of the window at hand with the local set, and returns the first message. values are those of the set, as Loaded of
// package peer has them. frame bounds the bytes of a message. Where differ is not 0, the reconciliation fails when more events than that are on one
// side only.
func (n *Comparison) Open(set *negentropy.Set, values []int16, frame, differ int) []byte {
	n.set, n.values, n.init = set, values, negentropy.NewInitiator(set, frame)
	n.opens++
	if differ != 0 {
		n.init.Bound(differ)
	}
	return n.init.Start()
}

// errNeeds says that a comparison needs more events than it may.
var errNeeds = errors.New("too many events are needed")

// Take takes a message of the relay and returns the reply, or what the comparison told where all of the window is compared. The caller gives a
// comparison up that fails.
func (n *Comparison) Take(msg []byte) (reply []byte, told *Compared, err error) {
	reply, have, need, err := n.init.Step(msg)
	n.learn(have, need)
	switch {
	case err != nil:
		return nil, nil, err
	case n.Size().Awaited > n.most:
		return reply, nil, errNeeds
	case reply == nil:
		return nil, n.close(), nil
	}
	return reply, nil, nil
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
		n.oldest.show(nostr.ID(id))
		n.oldest.sawUnknown = true
	}
}

// Compared is what the comparison of one window told.
type Compared struct {
	coverage.Window      // what the relay has of what is here
	Differ          int  // events on one side only
	Equal           int  // events on both sides; none in a window that was compared before
	Truncated       bool // the relay compares its newest events only: it did not show an event that it has, and was asked for twice
}

// close ends the reconciliation of a window that is compared, and returns what it told. What is below the window is looked at next.
func (n *Comparison) close() *Compared {
	c := &Compared{Window: coverage.Window{Set: n.set, Values: n.values, Lacks: n.have}, Differ: len(n.have) + len(n.need)}
	if hidden := n.oldest.hidden; hidden != nil {
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

// TooBig halves a window that the relay finds too big, or gives up where that cannot be halved.
func (n *Comparison) TooBig(now time.Time) {
	if !n.split(now) {
		n.GiveUp()
	}
}

// split halves a window at the middle of the local set, or of the time where nothing is here. It reports whether the window can be halved.
func (n *Comparison) split(now time.Time) bool {
	w := n.window()
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

// GiveUp ends the comparison: the span that is not compared is paged next. No event is got by id any more.
func (n *Comparison) GiveUp() {
	s := n.windows[0]
	for _, w := range n.windows {
		s.Since, s.Until = min(s.Since, w.Since), max(s.Until, w.Until)
	}
	n.windows, n.probe, n.need = nil, false, nil
	n.cut, n.page = true, &s
	n.release()
}

// Complete reports whether all was compared, and nothing was paged instead.
func (n *Comparison) Complete() bool { return !n.cut }

// LastPage reports whether nothing is left to do but what is paged now.
func (n *Comparison) LastPage() bool {
	return n.page == nil && !n.probe && len(n.windows)+n.Size().Awaited+len(n.batches) == 0
}

// advance takes the window at hand for done, and goes on to the next one.
func (n *Comparison) advance() {
	n.windows = n.windows[:len(n.windows)-1]
	n.probe, n.oldest = false, oldestShown{}
	n.round = first
	n.release()
}

// again has the window at hand compared once more. hidden is an event that the relay has and did not show.
func (n *Comparison) again(hidden *nostr.Stamp) {
	n.oldest, n.probe = oldestShown{hidden: hidden}, false
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
