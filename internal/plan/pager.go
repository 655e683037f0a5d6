package plan

import (
	"math"

	"github.com/graspd/graspd/internal/nostr"
)

// forever is the end of all time.
const forever = math.MaxInt64

// span is a range of creation times, both ends inclusive.
type span struct{ since, until int64 }

// pager reads all that one filter matches from a relay that answers in pages of
// unknown size, which hold the newest or the oldest events of what was asked, in
// any order. It believes no page to be complete: what lies below and above the
// events of a page is asked again, from their times on, inclusive, until that
// brings nothing that it does not know by id. Then one second further is asked,
// in case a page was full of one second.
//
// A page that holds what was known at its upper end is taken for newest first,
// so nothing is asked above it; likewise below. Only where such a page proves to
// be the last is that end asked again, as it may have been cut there.
type pager struct {
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
	span
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
	maxPages  = 20_000
	maxEvents = 1 << 20
)

// mostSeen bounds the ids that are known between two pages. With more all are
// forgotten, for which the last second that was asked may be asked once more.
const mostSeen = 1 << 16

// minFullPage is the size from which a page of one second is taken for cut.
const minFullPage = 20

func newPager(s span) *pager {
	return &pager{todo: []pageRange{{span: s}}, seen: make(map[uint64]struct{})}
}

// next returns what to ask now; false at the end.
func (p *pager) next() (span, bool) {
	if len(p.todo) == 0 || p.exhausted() {
		return span{}, false
	}
	return p.todo[len(p.todo)-1].span, true
}

// exhausted says that the pager gave up at its bounds.
func (p *pager) exhausted() bool { return p.pages >= maxPages || p.events >= maxEvents }

// received takes one event of the page being answered.
func (p *pager) received(id nostr.ID, at int64) {
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

func key64(id nostr.ID) uint64 {
	var k uint64
	for _, b := range id[:8] {
		k = k<<8 | uint64(b)
	}
	return k
}

// again forgets the page being answered, which will be asked once more. What
// came of it stays known: a page is followed to its edges whether it is news or not.
func (p *pager) again() {
	p.page = page{}
}

// forget frees what a pager that is not used for a while can do without.
func (p *pager) forget() { p.seen = make(map[uint64]struct{}) }

// end ends the page being answered. It returns the page and what was asked by it.
func (p *pager) end() (page, pageRange) {
	g, r := p.page, p.todo[len(p.todo)-1]
	p.page = page{}
	p.pages++
	p.events += g.received
	p.todo = p.todo[:len(p.todo)-1]
	g.oldest, g.newest = max(g.oldest, r.since), min(g.newest, r.until)
	if len(p.seen) > mostSeen {
		p.forget()
	}
	return g, r
}

// cut ends a page that was not answered to its end, as the relay went on and on.
// Nothing is believed about what it holds: all of the range is asked again, in
// parts, of which those in the middle hold about half of what came each. One second
// has no parts: it is a gap if there was too much in it. It reports whether most of
// what came was not known.
func (p *pager) cut(tooMuch bool) bool {
	if r := p.todo[len(p.todo)-1]; p.page.received == 0 || r.since == r.until && !tooMuch {
		p.again()
		return false
	}
	g, r := p.end()
	if r.since == r.until {
		p.gap = true
		p.settle(r)
		return g.fresh > g.received/2
	}
	half := g.oldest + (g.newest-g.oldest)/2
	for _, s := range []span{{r.since, g.oldest - 1}, {g.newest + 1, r.until}, {g.oldest, half}, {half + 1, g.newest}} {
		if s.since <= s.until {
			p.todo = append(p.todo, pageRange{span: s, low: r.low && s.since == r.since, high: r.high && s.until == r.until, doubt: r.doubt})
		}
	}
	return g.fresh > g.received/2
}

// done ends the page being answered and decides what is asked next.
func (p *pager) done() {
	g, r := p.end()
	p.largest = max(p.largest, g.received)
	if g.received == 0 {
		p.settle(r)
		return
	}
	below := pageRange{span: span{r.since, g.oldest}, low: r.low, high: true}
	above := pageRange{span: span{g.newest, r.until}, low: true, high: r.high}
	switch {
	case g.oldest < g.newest:
		p.around(r, g, below, above)
	case g.fresh > 0 && r.since == r.until:
		p.todo = append(p.todo, r)
	case g.fresh > 0:
		p.around(r, g, below, above)
	default:
		p.settle(r)
		p.beyond(r, g.oldest)
		p.gap = p.gap || g.received >= max(minFullPage, p.largest)
	}
}

// around asks what lies outside a page, the older part first.
func (p *pager) around(r pageRange, g page, below, above pageRange) {
	newestFirst := r.high && g.newest == r.until
	oldestFirst := r.low && g.oldest == r.since && !newestFirst
	switch {
	case g.oldest == g.newest:
		below.doubt, above.doubt = r.doubt, r.doubt
	case newestFirst:
		below.doubt = &r.until
	case oldestFirst:
		above.doubt = &r.since
	}
	if !newestFirst {
		p.todo = append(p.todo, above)
	}
	if !oldestFirst {
		p.todo = append(p.todo, below)
	}
}

// settle asks once more for the second that is in doubt.
func (p *pager) settle(r pageRange) {
	if r.doubt != nil {
		p.todo = append(p.todo, pageRange{span: span{*r.doubt, *r.doubt}, low: true, high: true})
	}
}

// beyond steps over one second of which nothing new came.
func (p *pager) beyond(r pageRange, at int64) {
	if at < r.until {
		p.todo = append(p.todo, pageRange{span: span{at + 1, r.until}, high: r.high})
	}
	if at > r.since {
		p.todo = append(p.todo, pageRange{span: span{r.since, at - 1}, low: r.low})
	}
}
