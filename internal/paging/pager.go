// Package paging reads all that one filter matches from a relay that answers in pages of unknown size.
package paging

import (
	"encoding/binary"
	"math"

	"github.com/graspd/graspd/internal/nostr"
)

// Forever is the end of all time, and First the last second that counts as the beginning of it: a span that begins there or
// before has no beginning.
const (
	Forever = math.MaxInt64
	First   = 1
)

// Span is a range of creation times in Unix seconds, both ends inclusive.
type Span struct{ Since, Until int64 }

// From returns all that was created since then.
func From(since int64) Span { return Span{since, Forever} }

// Narrow returns f for the span only.
func (s Span) Narrow(f nostr.Filter) nostr.Filter {
	if s.Since > First {
		f.Since = &s.Since
	}
	if s.Until < Forever {
		f.Until = &s.Until
	}
	return f
}

// Pager reads all that one filter matches from a relay that answers in pages of
// unknown size, which hold the newest or the oldest events of what was asked, in
// any order. It believes no page to be complete: what lies below and above the
// events of a page is asked again, from their times on, inclusive, until that
// brings nothing that it does not know by id. Then one second further is asked,
// in case a page was full of one second.
//
// A page that holds what was known at its upper end is taken for newest first,
// so nothing is asked above it; likewise below. Only where such a page proves to
// be the last is that end asked again, as it may have been cut there.
type Pager struct {
	todo    []pageRange // asked next: the last one
	seen    map[uint64]struct{}
	page    page
	pages   int
	events  int
	largest int  // page so far
	gap     bool // a full page of one second may have hidden events
}

// pageRange is what is asked; low and high say that events at its very ends are known.
type pageRange struct {
	Span
	low, high bool
	doubt     *int64 // this second is asked again if the range brings nothing new
}

// page is the one being answered.
type page struct {
	received, fresh int // fresh: by id
	oldest, newest  int64
}

// A pager gives up at these bounds, against relays that invent history.
const (
	MaxPages  = 20_000
	maxEvents = 1 << 20
)

// MostSeen bounds the ids that are known between two pages. With more all are
// forgotten, for which the last second that was asked may be asked once more.
const MostSeen = 1 << 16

// minFullPage is the size from which a page of one second is taken for cut.
const minFullPage = 20

// New begins to read a span.
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

// Exhausted says that the pager gave up at its bounds.
func (p *Pager) Exhausted() bool { return p.pages >= MaxPages || p.events >= maxEvents }

// Received takes one event of the page being answered.
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

// Again forgets the page being answered, which will be asked once more. What
// came of it stays known: a page is followed to its edges whether it is news or not.
func (p *Pager) Again() {
	p.page = page{}
}

// Forget frees what a pager that is not used for a while can do without.
func (p *Pager) Forget() { p.seen = make(map[uint64]struct{}) }

// end ends the page being answered. It returns the page and what was asked by it.
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

// Cut ends a page that was not answered to its end, as the relay went on and on.
// Nothing is believed about what it holds: all of the range is asked again, in
// parts, of which those in the middle hold about half of what came each. One second
// has no parts: it is a gap if there was too much in it. It reports whether most of
// what came was not known.
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

// Done ends the page being answered and decides what is asked next.
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

// around asks what lies outside a page, the older part first.
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

// askAgain asks once more for the second that is in doubt.
func (p *Pager) askAgain(r pageRange) {
	if r.doubt != nil {
		p.todo = append(p.todo, pageRange{Span: Span{*r.doubt, *r.doubt}, low: true, high: true})
	}
}

// beyond steps over one second of which nothing new came.
func (p *Pager) beyond(r pageRange, at int64) {
	if at < r.Until {
		p.todo = append(p.todo, pageRange{Span: Span{at + 1, r.Until}, high: r.high})
	}
	if at > r.Since {
		p.todo = append(p.todo, pageRange{Span: Span{r.Since, at - 1}, low: r.low})
	}
}

// Gap says whether a full page of one second may have hidden events.
func (p *Pager) Gap() bool { return p.gap }

// Found says whether any page had an event.
func (p *Pager) Found() bool { return p.events > 0 }

// Size is how much a pager holds, and how many pages it has read.
type Size struct{ Seen, Ranges, Pages int }

// Size tells how much it holds: ids that are known, of which at most MostSeen outlive a page, and up to three ranges for each page.
func (p *Pager) Size() Size { return Size{len(p.seen), len(p.todo), p.pages} }
