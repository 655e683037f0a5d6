package compare

import (
	"encoding/binary"
	"slices"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/paging"
	"github.com/graspd/graspd/internal/step"
)

// Some relays reconcile only their newest events and do not say so. No comparison
// is believed to be complete for that reason, however little the relay showed: it is
// asked by a small REQ for the oldest second that it showed something of and for
// what lies below. Whatever comes that it did not show is compared once more, as
// it may be news; what the relay does not show even then proves that it cuts.

// MostProbed bounds the events that a probe asks for; where more are needed to
// find anything, what lies below is paged.
const MostProbed = 20

// leastProbed: a limit of 1 stands for live REQs where relays refuse one of 0.
const leastProbed = 2

// Dated is the id of an event and its time.
type Dated = step.Dated

// instant is one second in which a relay showed events.
type instant struct {
	at int64
	n  int // how many
}

// edge is what a relay showed at the old end of a window.
type edge struct {
	ids           map[uint64]bool // what it showed that was not here, or is at the edge: whether the time is known
	dark          int             // of those, without a known time
	news          bool            // it showed something that was not here
	first, second instant         // the two oldest seconds in which it showed something
	probed        probing
	paged         bool   // what a probe could not tell was paged
	found         *Dated // came so and had not been shown
	hidden        *Dated // had not been shown by the comparison before this one
}

// probing is how far the probing of an edge has come.
type probing uint8

const (
	probedNot   probing = iota
	probedAbove         // the second above the oldest one, to learn how much one REQ brings
	probedAt            // the oldest second
)

// key64 stands for an id where a mistake costs one request and memory counts.
func key64(id nostr.ID) uint64 { return binary.BigEndian.Uint64(id[:]) }

// show notes that the relay has an event that was not here.
func (e *edge) show(id nostr.ID) {
	if e.ids == nil {
		e.ids = make(map[uint64]bool)
	}
	k := key64(id)
	if _, dup := e.ids[k]; !dup {
		e.ids[k] = false
		e.dark++
	}
}

// date notes the time of an event that the relay showed.
func (e *edge) date(id nostr.ID, at int64) {
	k := key64(id)
	if known, shown := e.ids[k]; shown && !known {
		e.ids[k] = true
		e.dark--
		e.add(at)
	}
}

// add counts an event of the time at.
func (e *edge) add(at int64) {
	switch {
	case e.first.n == 0 || at < e.first.at:
		e.first, e.second = instant{at, 1}, e.first
	case at == e.first.at:
		e.first.n++
	case e.second.n == 0 || at < e.second.at:
		e.second = instant{at, 1}
	case at == e.second.at:
		e.second.n++
	}
}

// dateLocal notes the oldest of what is on both sides.
func (n *Comparison) dateLocal() {
	e, seconds, last := &n.edge, 0, int64(-1)
	for i := range n.set.Len() {
		x := n.set.At(i)
		if _, lacks := n.have[x.ID]; lacks {
			continue
		}
		if at := int64(x.Time); at != last {
			if seconds++; seconds > 2 {
				return
			}
			last = at
		}
		if k := key64(x.ID); !e.ids[k] {
			e.show(x.ID)
			e.date(x.ID, last)
		}
	}
}

// shows says whether the relay showed an event in the window at hand.
func (n *Comparison) shows(x Dated) bool {
	if _, shown := n.edge.ids[key64(x.ID)]; shown {
		return true
	}
	if _, lacks := n.have[x.ID]; lacks {
		return false
	}
	for i := range n.set.Len() {
		if n.set.At(i).ID == x.ID {
			return true
		}
	}
	return false
}

// Relay is what is known of the relay when a probe is decided on.
type Relay struct {
	Truncates bool                 // it compares its newest events only
	Brings    int                  // the most events that one probe brought
	Most      int                  // events that a probe may ask for
	Sparse    bool                 // mostly there is nothing that matches: what showed nothing is believed
	Proven    func(news bool) bool // whether all was read in full before, where a comparison showed news or not
}

// Look is how what lies below a window is looked at. At most one of its fields is set; none where the comparison goes on.
type Look struct {
	Probe *Question    // ask this
	Page  *paging.Span // page this
}

// Question is a small REQ, for so many events.
type Question struct {
	Span  paging.Span
	Limit int
}

// Below asks for what the relay did not show, pages that part where it is known
// to hide something or where a small REQ could not tell, or goes on.
func (n *Comparison) Below(r Relay) Look {
	e, w := &n.edge, n.Window()
	until, limit := w.Until, e.dark+1
	switch {
	case e.paged:
		return n.belowPaged(r)
	case r.Sparse && e.first.n+e.dark == 0 && !r.Truncates:
		return n.noneBelow()
	case r.Truncates:
		l := n.pageBelow()
		n.advance()
		return l
	case e.first.n+e.dark >= r.Most:
		return n.pageBelow()
	case e.first.n == 0:
	case e.probed == probedAt, r.Proven(e.news):
		e.probed = probedAt
		until = e.first.at - 1
	case e.probed == probedNot && r.Brings <= e.first.n && e.second.n > 0 && e.first.n+e.second.n+e.dark < r.Most:
		e.probed = probedAbove
		until, limit = e.second.at, limit+e.first.n+e.second.n
	default:
		e.probed = probedAt
		until, limit = e.first.at, limit+e.first.n
	}
	if until < w.Since {
		return n.noneBelow()
	}
	return Look{Probe: &Question{Span: paging.Span{Since: w.Since, Until: until}, Limit: max(limit, leastProbed)}}
}

// Answer is what a probe brought.
type Answer struct {
	within paging.Span
	came   []uint64 // what the relay had shown
	hidden *Dated   // what it had not, one of it
	unsure bool     // something that tells nothing of what was left out for it
}

// NewAnswer is the answer to a probe of which nothing has come yet.
func NewAnswer(q Question) *Answer { return &Answer{within: q.Span} }

// Hidden says whether something came that the relay had not shown.
func (a *Answer) Hidden() bool { return a.hidden != nil }

// Brought is how many events came that it had shown.
func (a *Answer) Brought() int { return len(a.came) }

// Received takes one event of the answer to a probe.
func (n *Comparison) Received(a *Answer, x Dated) {
	k := key64(x.ID)
	known, shown := n.edge.ids[k]
	switch {
	case x.At < a.within.Since || x.At > a.within.Until, shown && !known:
		a.unsure = true
	case !shown:
		a.hidden = &x
	case !slices.Contains(a.came, k):
		a.came = append(a.came, k)
	}
}

// Probed takes the answer to a probe, which Relay does not count yet.
func (n *Comparison) Probed(r Relay, a *Answer) Look {
	e, came := &n.edge, a.Brought()
	switch {
	case a.hidden != nil && e.hidden == nil:
		n.again(a.hidden)
		return Look{}
	case a.hidden != nil, a.unsure:
		return n.pageBelow()
	case e.first.n == 0 || a.within.Until < e.first.at, r.Brings > came && a.within.Until == e.first.at:
		return n.noneBelow()
	}
	r.Brings = max(r.Brings, came)
	return n.Below(r)
}

// noneBelow goes on to the next window: nothing is hidden in this one.
func (n *Comparison) noneBelow() Look {
	n.advance()
	return Look{}
}

// pageBelow reads from the oldest second that the relay showed something of.
func (n *Comparison) pageBelow() Look {
	s := n.Window()
	if n.edge.first.n > 0 {
		s.Until = min(s.Until, n.edge.first.at)
	}
	n.edge.paged = true
	return Look{Page: &s}
}

// belowPaged goes on where what a probe could not tell was paged.
func (n *Comparison) belowPaged(r Relay) Look {
	switch e := &n.edge; {
	case e.found == nil:
		n.advance()
	case e.hidden == nil && !r.Truncates:
		n.again(e.found)
	default:
		n.cut = true
		n.advance()
	}
	return Look{}
}

// PageReceived takes one event of a page.
func (n *Comparison) PageReceived(x Dated) {
	e := &n.edge
	_, shown := e.ids[key64(x.ID)]
	if e.paged && !shown && (e.first.n == 0 || x.At <= e.first.at) {
		e.found = &x
	}
}
