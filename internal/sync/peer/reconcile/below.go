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

// oldestShown is what the relay showed at the old end of a window.
type oldestShown struct {
	ids           map[uint64]bool // events that the relay showed and that were not here, or are in the oldest seconds: whether the time is known
	undated       int             // how many of ids have no known time
	sawUnknown    bool            // the relay showed an event that was not here
	first, second instant         // the two oldest seconds of which the relay showed events
	probed        probing
	paged         bool         // the time below was paged, as no probe could tell
	found         *nostr.Stamp // an event of such a page that the relay had not shown
	hidden        *nostr.Stamp // an event that the relay had not shown in the comparison before this one
}

// probing is how far the probing of an old end has come.
type probing uint8

const (
	probedNot   probing = iota
	probedAbove         // the second above the oldest one, to learn how much one REQ brings
	probedAt            // the oldest second
)

// key64 stands for an id where a mistake costs one request and memory counts.
func key64(id nostr.ID) uint64 { return binary.BigEndian.Uint64(id[:]) }

// show notes an event that the relay showed.
func (e *oldestShown) show(id nostr.ID) {
	if e.ids == nil {
		e.ids = make(map[uint64]bool)
	}
	k := key64(id)
	if _, dup := e.ids[k]; !dup {
		e.ids[k] = false
		e.undated++
	}
}

// date notes the time of an event, if the relay showed the event.
func (e *oldestShown) date(id nostr.ID, at int64) {
	k := key64(id)
	if known, shown := e.ids[k]; shown && !known {
		e.ids[k] = true
		e.undated--
		e.add(at)
	}
}

// add counts an event of the second at.
func (e *oldestShown) add(at int64) {
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
	e, seconds, last := &n.oldest, 0, int64(-1)
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
	if _, shown := n.oldest.ids[key64(x.ID)]; shown {
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

// Probe is a small REQ for what the relay may not have shown, and what came of it.
type Probe struct {
	Span   paging.Span
	Limit  int
	came   []uint64     // events that the relay had shown
	hidden *nostr.Stamp // an event that the relay had not shown
	unsure bool         // an event came that says nothing, and another one may have been left out for it
}

// below looks below a window that is compared: it asks by a probe for events that the relay did not show, or has the time below paged where the
// relay is known to truncate or where no probe could tell, or goes on.
func (n *Comparison) below(r Facts) {
	e, w := &n.oldest, n.window()
	until, limit := w.Until, e.undated+1
	switch {
	case e.paged:
		n.belowPaged(r)
		return
	case r.Sparse && e.first.n+e.undated == 0 && !r.Truncates:
		n.advance()
		return
	case r.Truncates:
		n.pageBelow()
		n.advance()
		return
	case r.LeftOut:
		n.advance()
		return
	case e.first.n+e.undated >= r.Most:
		n.pageBelow()
		return
	case e.first.n == 0:
	case e.probed == probedAt, r.Proven(e.sawUnknown):
		e.probed = probedAt
		until = e.first.at - 1
	case e.probed == probedNot && r.AnswerCap <= e.first.n && e.second.n > 0 && e.first.n+e.second.n+e.undated < r.Most:
		e.probed = probedAbove
		until, limit = e.second.at, limit+e.first.n+e.second.n
	default:
		e.probed = probedAt
		until, limit = e.first.at, limit+e.first.n
	}
	if until < w.Since {
		n.advance()
		return
	}
	n.asked = &Probe{Span: paging.Span{Since: w.Since, Until: until}, Limit: max(limit, leastProbed, min(MostProbed, r.Most))}
}

// Received takes one event that a REQ of the comparison brings, before the door decides it.
func (n *Comparison) Received(x nostr.Stamp) {
	e := &n.oldest
	switch k := key64(x.ID); {
	case n.asked != nil:
		n.asked.received(k, x, e)
	case !e.paged:
		e.date(x.ID, x.CreatedAt)
	default:
		if _, shown := e.ids[k]; !shown && (e.first.n == 0 || x.CreatedAt <= e.first.at) {
			e.found = &x
		}
	}
}

func (q *Probe) received(k uint64, x nostr.Stamp, e *oldestShown) {
	known, shown := e.ids[k]
	switch {
	case x.CreatedAt < q.Span.Since || x.CreatedAt > q.Span.Until, shown && !known:
		q.unsure = true
	case !shown:
		q.hidden = &x
	case !slices.Contains(q.came, k):
		q.came = append(q.came, k)
	}
}

// Probed takes the end of the answer to a probe. answerCap is the most events that one probe brought. Probed returns how many events this one
// brought that the relay had shown, and whether it brought one that the relay had not shown.
func (n *Comparison) Probed(answerCap int) (brought int, hidden bool) {
	q, e := n.asked, &n.oldest
	switch {
	case q.hidden != nil && e.hidden == nil:
		n.again(q.hidden)
	case q.hidden != nil, q.unsure:
		n.pageBelow()
	case e.first.n == 0 || q.Span.Until < e.first.at, answerCap > len(q.came) && q.Span.Until == e.first.at:
		n.advance()
	}
	return len(q.came), q.hidden != nil
}

// pageBelow has the window paged from the oldest second down of which the relay showed an event.
func (n *Comparison) pageBelow() {
	s := n.window()
	if n.oldest.first.n > 0 {
		s.Until = min(s.Until, n.oldest.first.at)
	}
	n.oldest.paged, n.page = true, &s
}

// belowPaged goes on after the time below was paged.
func (n *Comparison) belowPaged(r Facts) {
	switch e := &n.oldest; {
	case e.found == nil:
		n.advance()
	case e.hidden == nil && !r.Truncates:
		n.again(e.found)
	default:
		n.cut = true
		n.advance()
	}
}
