package plan

import (
	"encoding/binary"
	"slices"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/paging"
	"github.com/graspd/graspd/internal/step"
	"github.com/graspd/graspd/internal/want"
)

// Some relays reconcile only their newest events and do not say so. No comparison
// is believed to be complete for that reason, however little the relay showed: it is
// asked by a small REQ for the oldest second that it showed something of and for
// what lies below. Whatever comes that it did not show is compared once more, as
// it may be news; what the relay does not show even then proves that it cuts.

// mostProbed bounds the events that a probe asks for; where more are needed to
// find anything, what lies below is paged.
const mostProbed = 20

// leastProbed: a limit of 1 stands for live REQs where relays refuse one of 0.
const leastProbed = 2

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
	paged         bool        // what a probe could not tell was paged
	found         *step.Dated // came so and had not been shown
	hidden        *step.Dated // had not been shown by the comparison before this one
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
func (n *reconciliation) dateLocal() {
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
func (n *reconciliation) shows(x step.Dated) bool {
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

// probe asks for what the relay did not show, pages that part where it is known
// to hide something or where a small REQ could not tell, or goes on.
func (c *comparing) probe(t *task) {
	n := t.neg
	e, w := &n.edge, n.window()
	until, limit, most := w.Until, e.dark+1, mostProbed
	if e.paged {
		c.paged(t)
		return
	}
	if !t.group.byItems() { // it is not paged
		most = c.stored.limits.Page()
	}
	switch {
	case t.group.Layer == want.LayerReferences && e.first.n+e.dark == 0 && c.support != negTruncates: // mostly there is nothing
		c.noneBelow(t)
		return
	case c.support == negTruncates:
		c.pageBelow(t)
		n.next()
		c.stored.proceed(t)
		return
	case e.first.n+e.dark >= most:
		c.pageBelow(t)
		c.stored.proceed(t)
		return
	case e.first.n == 0:
	case e.probed == probedAt, c.stored.provenBefore(t.group, e):
		e.probed = probedAt
		until = e.first.at - 1
	case e.probed == probedNot && c.brings <= e.first.n && e.second.n > 0 && e.first.n+e.second.n+e.dark < most:
		e.probed = probedAbove
		until, limit = e.second.at, limit+e.first.n+e.second.n
	default:
		e.probed = probedAt
		until, limit = e.first.at, limit+e.first.n
	}
	if until < w.Since {
		c.noneBelow(t)
		return
	}
	s := paging.Span{Since: w.Since, Until: until}
	f := s.Narrow(t.filter)
	f.Limit = new(max(limit, leastProbed))
	r := c.stored.request(t, asksProbe, f)
	r.probe.within = s
}

// probed is what a probe brought.
type probed struct {
	within paging.Span
	came   []uint64    // what the relay had shown
	hidden *step.Dated // what it had not, one of it
	unsure bool        // something that tells nothing of what was left out for it
}

// received takes one event of a probe.
func (b *probed) received(e *edge, x step.Dated) {
	k := key64(x.ID)
	known, shown := e.ids[k]
	switch {
	case x.At < b.within.Since || x.At > b.within.Until, shown && !known:
		b.unsure = true
	case !shown:
		b.hidden = &x
	case !slices.Contains(b.came, k):
		b.came = append(b.came, k)
	}
}

// probeDone takes the answer.
func (c *comparing) probeDone(t *task, b *probed) {
	n := t.neg
	e := &n.edge
	came, most := len(b.came), c.brings
	c.brings = max(most, came)
	switch {
	case b.hidden != nil && t.group.course != nil:
		t.group.course.unfit("it reconciles its newest events only")
	case b.hidden != nil && e.hidden == nil:
		n.again(b.hidden)
		c.stored.proceed(t)
	case b.hidden != nil, b.unsure:
		c.pageBelow(t)
		c.stored.proceed(t)
	case e.first.n == 0 || b.within.Until < e.first.at, most > came && b.within.Until == e.first.at:
		c.noneBelow(t)
	default:
		c.probe(t)
	}
}

// noneBelow goes on to the next window: nothing is hidden in this one.
func (c *comparing) noneBelow(t *task) {
	t.neg.next()
	c.stored.proceed(t)
}

// pageBelow reads from the oldest second that the relay showed something of.
func (c *comparing) pageBelow(t *task) {
	n := t.neg
	s := n.window()
	if n.edge.first.n > 0 {
		s.Until = min(s.Until, n.edge.first.at)
	}
	n.edge.paged = true
	t.pager = paging.New(s)
}

// paged goes on where what a probe could not tell was paged.
func (c *comparing) paged(t *task) {
	n := t.neg
	switch e := &n.edge; {
	case e.found == nil:
		c.noneBelow(t)
		return
	case e.hidden == nil && c.support != negTruncates:
		n.again(e.found)
	default:
		n.cutShort()
		n.next()
	}
	c.stored.proceed(t)
}

// pageReceived takes one event of such a page.
func (e *edge) pageReceived(x step.Dated) {
	_, shown := e.ids[key64(x.ID)]
	if e.paged && !shown && (e.first.n == 0 || x.At <= e.first.at) {
		e.found = &x
	}
}
