// Package paging reads all events that one filter matches from a relay that answers in pages of unknown size.
package paging

import (
	"encoding/binary"
	"math"

	"github.com/graspd/graspd/internal/nostr"
)

// Forever is the end of all time. First is the last second that counts as the beginning of time: a span that begins there or
// before has no beginning.
const (
	Forever = math.MaxInt64
	First   = 1
)

// Span is a range of creation times in Unix seconds, both ends inclusive.
type Span struct{ Since, Until int64 }

// From returns the span of all events created at since or later.
func From(since int64) Span { return Span{since, Forever} }

// Narrow returns f narrowed to the span.
func (s Span) Narrow(f nostr.Filter) nostr.Filter {
	if s.Since > First {
		f.Since = &s.Since
	}
	if s.Until < Forever {
		f.Until = &s.Until
	}
	return f
}

// Pager reads all events that one filter matches from a relay that answers in
// pages of unknown size. A page has the newest or the oldest of the events that
// the Pager asked for, in any order. A Pager believes no page to be complete: it
// asks again for the times below and above the events of a page, inclusive, until
// that brings no event with an id that it does not know. Then it asks one second
// further, in case a page was full of one second.
//
// A Pager takes a page that has the event known at the upper end of the range for
// newest first, and asks nothing above it. It takes a page that has the event
// known at the lower end for oldest first, and asks nothing below it. Only where
// such a page proves to be the last does it ask for that end again, as the relay
// may have cut the page there.
type Pager struct {
	todo    []pageRange // the last one is asked next
	seen    map[uint64]struct{}
	page    page
	pages   int
	events  int
	largest int  // events of the largest page so far
	gap     bool // a full page of one second may have hidden events
}

// pageRange is a range to ask for; low and high say that events at its very ends are known.
type pageRange struct {
	Span
	low, high bool
	doubt     *int64 // if the range brings nothing new, this second is asked again
}

// page counts the events of the page that the relay is answering.
type page struct {
	received, fresh int // fresh: of an id that was not known
	oldest, newest  int64
}

// A pager gives up at these bounds, against relays that invent history.
const (
	MaxPages  = 20_000
	maxEvents = 1 << 20
)

// MostSeen is how many ids a Pager may know between two pages. With more it
// forgets all; then it may ask once more for the last second that it asked for.
const MostSeen = 1 << 16

// minFullPage is how many events a page of one second has at least to count as cut by the relay.
const minFullPage = 20

// New makes a Pager that reads a span.
func New(s Span) *Pager {
	return &Pager{todo: []pageRange{{Span: s}}, seen: make(map[uint64]struct{})}
}

// Next returns what to ask now; false at the end.
func (p *Pager) Next() (Span, bool) {
	if len(p.todo) == 0 || p.Exhausted() {
		return Span{}, false
	}
	return p.todo[len(p.todo)-1].Span, true
}

// Exhausted reports whether the pager has given up at MaxPages or maxEvents.
func (p *Pager) Exhausted() bool { return p.pages >= MaxPages || p.events >= maxEvents }

// Received takes one event of the page that the relay is answering.
func (p *Pager) Received(id nostr.ID, at int64) {
	g := &p.page
	if g.received == 0 || at < g.oldest {
		g.oldest = at
	}
	if g.received == 0 || at > g.newest {
		g.newest = at
	}
	g.received++
	k := key64(id)
	if _, dup := p.seen[k]; !dup {
		p.seen[k] = struct{}{}
		g.fresh++
	}
}

func key64(id nostr.ID) uint64 { return binary.BigEndian.Uint64(id[:]) }

// Again forgets the page that the relay is answering, and asks for it once more.
// The ids that came stay known: a Pager follows a page to its edges whether it
// brings news or not.
func (p *Pager) Again() {
	p.page = page{}
}

// Forget frees the ids that a Pager knows: while nobody uses it, it can do without.
func (p *Pager) Forget() { p.seen = make(map[uint64]struct{}) }

// end ends the page that the relay was answering. It returns the page and the range asked for.
func (p *Pager) end() (page, pageRange) {
	g, r := p.page, p.todo[len(p.todo)-1]
	p.page = page{}
	p.pages++
	p.events += g.received
	p.todo = p.todo[:len(p.todo)-1]
	g.oldest, g.newest = max(g.oldest, r.Since), min(g.newest, r.Until)
	if len(p.seen) > MostSeen {
		p.Forget()
	}
	return g, r
}

// Cut ends a page that the caller cut off, because the relay went on and on. Cut
// believes nothing about the events that came: it asks again for all of the range,
// in parts, and each of the two parts in the middle has about half of the events
// that came. One second has no parts: it is a gap if there was too much in it. Cut
// reports whether most of the events that came were not known.
func (p *Pager) Cut(tooMuch bool) bool {
	if r := p.todo[len(p.todo)-1]; p.page.received == 0 || r.Since == r.Until && !tooMuch {
		p.Again()
		return false
	}
	g, r := p.end()
	if r.Since == r.Until {
		p.gap = true
		p.askAgain(r)
		return g.fresh > g.received/2
	}
	half := g.oldest + (g.newest-g.oldest)/2
	for _, s := range []Span{{r.Since, g.oldest - 1}, {g.newest + 1, r.Until}, {g.oldest, half}, {half + 1, g.newest}} {
		if s.Since <= s.Until {
			p.todo = append(p.todo, pageRange{Span: s, low: r.low && s.Since == r.Since, high: r.high && s.Until == r.Until, doubt: r.doubt})
		}
	}
	return g.fresh > g.received/2
}

// Done ends the page that the relay was answering, and decides what to ask next.
func (p *Pager) Done() {
	g, r := p.end()
	p.largest = max(p.largest, g.received)
	if g.received == 0 {
		p.askAgain(r)
		return
	}
	below := pageRange{Span: Span{r.Since, g.oldest}, low: r.low, high: true}
	above := pageRange{Span: Span{g.newest, r.Until}, low: true, high: r.high}
	switch {
	case g.oldest < g.newest:
		p.around(r, g, below, above)
	case g.fresh > 0 && r.Since == r.Until:
		p.todo = append(p.todo, r)
	case g.fresh > 0:
		p.around(r, g, below, above)
	default:
		p.askAgain(r)
		p.beyond(r, g.oldest)
		p.gap = p.gap || g.received >= max(minFullPage, p.largest)
	}
}

// around asks for the times outside a page, the older part first.
func (p *Pager) around(r pageRange, g page, below, above pageRange) {
	newestFirst := r.high && g.newest == r.Until
	oldestFirst := r.low && g.oldest == r.Since && !newestFirst
	switch {
	case g.oldest == g.newest:
		below.doubt, above.doubt = r.doubt, r.doubt
	case newestFirst:
		below.doubt = &r.Until
	case oldestFirst:
		above.doubt = &r.Since
	}
	if !newestFirst {
		p.todo = append(p.todo, above)
	}
	if !oldestFirst {
		p.todo = append(p.todo, below)
	}
}

// askAgain asks once more for the second in doubt.
func (p *Pager) askAgain(r pageRange) {
	if r.doubt != nil {
		p.todo = append(p.todo, pageRange{Span: Span{*r.doubt, *r.doubt}, low: true, high: true})
	}
}

// beyond asks for the times around one second that brought nothing new.
func (p *Pager) beyond(r pageRange, at int64) {
	if at < r.Until {
		p.todo = append(p.todo, pageRange{Span: Span{at + 1, r.Until}, high: r.high})
	}
	if at > r.Since {
		p.todo = append(p.todo, pageRange{Span: Span{r.Since, at - 1}, low: r.low})
	}
}

// Gap reports whether a full page of one second may have hidden events.
func (p *Pager) Gap() bool { return p.gap }

// Found reports whether any page had an event.
func (p *Pager) Found() bool { return p.events > 0 }

// Size is how many ids and ranges a Pager holds, and how many pages it has read.
type Size struct{ Seen, Ranges, Pages int }

// Size returns how much the Pager holds. At most MostSeen ids outlive a page, and there are up to three ranges for each page.
func (p *Pager) Size() Size { return Size{len(p.seen), len(p.todo), p.pages} }
