package reconcile

import (
	"encoding/binary"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/paging"
)

// Some relays reconcile only their newest events and do not say so. So graspd does not
// believe that a comparison is complete, however little the relay showed. A probe, which is
// a small REQ, asks for the oldest second of which the relay showed an event, and for the
// time below. Where an event comes that the relay did not show, the window is compared once
// more, as the event may be news. An event that the relay does not show even then proves that
// the relay truncates. A probe asks for more than could come, as some relays count events
// against the limit of a REQ that they do not give.

// MostProbed bounds the events that a probe asks for. Where a probe would need more,
// the time below is paged.
const MostProbed = 20

// leastProbed is the lowest limit of a probe. Where relays refuse a limit of 0, live REQs have one of 1.
const leastProbed = 2

// instant is one second in which a relay showed events.
type instant struct {
	at int64
	n  int // how many
}

// edge is what the relay showed at the old end of a window.
type edge struct {
	ids           map[uint64]bool // events that the relay showed and that were not here, or are in the oldest seconds: whether the time is known
	dark          int             // how many of ids have no known time
	news          bool            // the relay showed an event that was not here
	first, second instant         // the two oldest seconds of which the relay showed events
	probed        probing
	paged         bool         // the time below was paged, as no probe could tell
	found         *nostr.Stamp // an event of such a page that the relay had not shown
	hidden        *nostr.Stamp // an event that the relay had not shown in the comparison before this one
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

// show notes an event that the relay showed.
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

// date notes the time of an event, if the relay showed the event.
func (e *edge) date(id nostr.ID, at int64) {
	k := key64(id)
	if known, shown := e.ids[k]; shown && !known {
		e.ids[k] = true
		e.dark--
		e.add(at)
	}
}

// add counts an event of the second at.
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

// dateLocal notes the events on both sides that are in the two oldest seconds with such events.
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

// shows reports whether the relay showed an event in the window at hand.
func (n *Comparison) shows(x nostr.Stamp) bool {
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

// Relay is what Below goes by.
type Relay struct {
	Truncates bool                 // the relay compares its newest events only
	Brings    int                  // the most events that one probe brought
	Most      int                  // how many events a probe may ask for
	Sparse    bool                 // mostly no event matches the filter: a relay that shows none is believed
	Proven    func(news bool) bool // whether all was read in full before, where the relay showed news or showed none
}

// Look is what the caller does to look below a window. At most one of its fields is set; with none, Next has the next action.
type Look struct {
	Probe *ProbeFilter // send this probe, and call Received and Probed
	Page  *paging.Span // page this span, and call PageReceived
}

// ProbeFilter is what a probe asks for.
type ProbeFilter struct {
	Span  paging.Span
	Limit int
}

// Below looks below a window that is compared: it asks by a probe for events that the relay did not show, or has the time below paged where the
// relay is known to truncate or where no probe could tell, or goes on.
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
	return Look{Probe: &ProbeFilter{Span: paging.Span{Since: w.Since, Until: until}, Limit: max(limit, leastProbed, min(MostProbed, r.Most))}}
}

// Answer is what a probe brought.
type Answer struct {
	within paging.Span
	came   []uint64     // events that the relay had shown
	hidden *nostr.Stamp // an event that the relay had not shown
	unsure bool         // an event came that says nothing, and another one may have been left out for it
}

// NewAnswer returns the answer to a probe, of which nothing has come yet.
func NewAnswer(q ProbeFilter) *Answer { return &Answer{within: q.Span} }

// Hidden reports whether an event came that the relay had not shown.
func (a *Answer) Hidden() bool { return a.hidden != nil }

// Brought returns how many events came that the relay had shown.
func (a *Answer) Brought() int { return len(a.came) }

// Received takes one event of the answer to a probe.
func (n *Comparison) Received(a *Answer, x nostr.Stamp) {
	k := key64(x.ID)
	known, shown := n.edge.ids[k]
	switch {
	case x.CreatedAt < a.within.Since || x.CreatedAt > a.within.Until, shown && !known:
		a.unsure = true
	case !shown:
		a.hidden = &x
	case !slices.Contains(a.came, k):
		a.came = append(a.came, k)
	}
}

// Probed takes the complete answer to a probe.
func (n *Comparison) Probed(r Relay, a *Answer) Look {
	e := &n.edge
	switch {
	case a.hidden != nil && e.hidden == nil:
		n.again(a.hidden)
		return Look{}
	case a.hidden != nil, a.unsure:
		return n.pageBelow()
	case e.first.n == 0 || a.within.Until < e.first.at, r.Brings > a.Brought() && a.within.Until == e.first.at:
		return n.noneBelow()
	}
	return n.Below(r)
}

// noneBelow goes on to the next window, as the relay hides nothing of this one.
func (n *Comparison) noneBelow() Look {
	n.advance()
	return Look{}
}

// pageBelow has the window paged from the oldest second down of which the relay showed an event.
func (n *Comparison) pageBelow() Look {
	s := n.Window()
	if n.edge.first.n > 0 {
		s.Until = min(s.Until, n.edge.first.at)
	}
	n.edge.paged = true
	return Look{Page: &s}
}

// belowPaged goes on after the time below was paged.
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
func (n *Comparison) PageReceived(x nostr.Stamp) {
	e := &n.edge
	_, shown := e.ids[key64(x.ID)]
	if e.paged && !shown && (e.first.n == 0 || x.CreatedAt <= e.first.at) {
		e.found = &x
	}
}
