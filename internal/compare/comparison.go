// Package compare is one filter compared with a relay (NIP-77), as a value: which range of times is compared next, what is got by id of what
// the relay showed, whether there may be more than it showed, and what is to be paged in the end. It is a function from what an exchange
// brought to what is to be asked next: its caller sends, reads the store and tells the time. Read Comparison, then Next.
package compare

import (
	"time"

	"github.com/graspd/graspd/internal/coverage"
	"github.com/graspd/graspd/internal/negentropy"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/paging"
)

// MostOpens bounds the NEG-OPENs of one filter; then it is paged.
const MostOpens = 4096

// Comparison is how far the comparison of one filter has come: one range of times after the
// other, each followed by fetching what is needed. One goroutine uses it.
type Comparison struct {
	fetching
	windows  []paging.Span // not compared yet: the last one next
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

// New compares all of some span of time.
func New(s paging.Span) *Comparison { return &Comparison{windows: []paging.Span{s}} }

// NewFetch gets events by id and compares nothing. They are asked for as long as something comes, as in the last round of a comparison.
func NewFetch(ids []nostr.ID) *Comparison {
	return &Comparison{fetching: fetching{need: ids, round: paged}}
}

// Action is what is to be done next for a comparison.
type Action uint8

// The actions.
const (
	Wait        Action = iota // for what is being decided of what came
	LookUp                    // look the ids of Needs up in the store, for LookedUp
	Fetch                     // ask for the ids of Ask
	WaitBehind                // wait until others have what they ask for, as it is needed here too
	Probe                     // ask what Below says
	Compare                   // load the set of Window, and open a reconciliation
	GiveUp                    // page what GiveUp says, as the relay does not compare it
	PageMissing               // page the whole filter for what does not come by id
	Done
)

// Terms are what the next action goes by.
type Terms struct {
	Now      time.Duration
	Settling bool                         // what came by id is still being decided
	Others   func() map[nostr.ID]struct{} // what others ask for by id now, or will next; nil = that is not waited for
	Refused  bool                         // the relay does not compare
	Withheld Withheld                     // what is known not to be given
}

// Next says what is to be done next.
func (n *Comparison) Next(t Terms) Action {
	switch {
	case len(n.need) > 0 && n.unread: // also what a comparison showed before it was interrupted
		return LookUp
	case len(n.need) > 0:
		return Fetch
	case t.Settling: // goes on when the last one is decided
		return Wait
	case n.ended() && t.Others != nil && n.waitsBehind(t.Others):
		return WaitBehind
	case n.ended() && n.secondRound():
		return LookUp
	case n.probe:
		return Probe
	case len(n.windows) > 0 && (t.Refused || n.opens >= MostOpens):
		return GiveUp
	case len(n.windows) > 0:
		return Compare
	case n.lastRound(t):
		return PageMissing
	}
	return Done
}

// ended says that nothing is being compared: what a window showed is being fetched, or all is compared.
func (n *Comparison) ended() bool { return n.probe || len(n.windows) == 0 }

// Window is the range of times at hand.
func (n *Comparison) Window() paging.Span { return n.windows[len(n.windows)-1] }

// Load begins the comparison of the window, whose local set is to be loaded.
func (n *Comparison) Load() { n.opened, n.heard, n.have = false, false, nil }

// Open takes the local set and opens a reconciliation with it, in messages of so many bytes.
func (n *Comparison) Open(set *negentropy.Set, values []int16, frame int) {
	n.set, n.values, n.init, n.opened = set, values, negentropy.NewInitiator(set, frame), true
	n.opens++
}

// Bound has the reconciliation fail where more than that differs.
func (n *Comparison) Bound(differ int) { n.init.Bound(max(1, differ)) }

// Start is the first message of the reconciliation.
func (n *Comparison) Start() []byte { return n.init.Start() }

// Opened says whether a reconciliation was opened in the window at hand.
func (n *Comparison) Opened() bool { return n.opened }

// Unheard says whether no answer to it came yet.
func (n *Comparison) Unheard() bool { return n.opened && !n.heard }

// Take takes a message of the relay and returns the reply: nil when all of the window is compared.
func (n *Comparison) Take(msg []byte) (reply []byte, err error) {
	n.heard = true
	reply, have, need, err := n.init.Step(msg)
	n.learn(have, need)
	return reply, err
}

// learn takes what one message of a reconciliation told.
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
	Differ          int  // events on one side only, as far as the relay told
	Equal           int  // events on both sides; none in a window that was compared before
	Truncated       bool // the relay compares its newest events only: it shows not even now what it had not shown the time before
}

// Close ends the reconciliation of the window, of which all is compared. Then Below looks at what the relay may not have shown.
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

// release frees what is not needed any more once a window is compared.
func (n *Comparison) release() { n.set, n.values, n.init, n.have = nil, nil, nil, nil }

// Reopen says whether a session that the relay lost is to be opened once more.
func (n *Comparison) Reopen() bool {
	again := !n.reopened
	n.reopened = true
	return again
}

// Split halves the window that the relay finds too big: where the local set
// has its middle, or in time. It reports whether that can be.
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

// GiveUp returns what has not been compared, which is to be paged. Nothing is got by id any more.
func (n *Comparison) GiveUp() paging.Span {
	s := n.windows[0]
	for _, w := range n.windows {
		s.Since, s.Until = min(s.Since, w.Since), max(s.Until, w.Until)
	}
	n.windows, n.probe, n.need = nil, false, nil
	n.cut = true
	return s
}

// Complete says whether all was compared, and nothing paged instead.
func (n *Comparison) Complete() bool { return !n.cut }

// advance goes on to the next window.
func (n *Comparison) advance() {
	n.windows = n.windows[:len(n.windows)-1]
	n.probe, n.edge = false, edge{}
	n.round = 0
	n.release()
}

// again has the window at hand compared once more.
func (n *Comparison) again(hidden *Dated) {
	n.edge, n.probe = edge{hidden: hidden}, false
}

// Held is how much a comparison holds.
type Held struct {
	Awaited        int // ids
	Windows, Opens int
	Lacks, Set     int // of the set, what the relay lacks, and all; none while it is not loaded
}

// Held tells how much it holds, of which all is bounded.
func (n *Comparison) Held() Held {
	h := Held{Awaited: len(n.need) + len(n.late) + len(n.missing), Windows: len(n.windows), Opens: n.opens}
	if n.set != nil {
		h.Lacks, h.Set = len(n.have), n.set.Len()
	}
	return h
}
