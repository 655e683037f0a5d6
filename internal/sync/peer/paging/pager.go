// Package paging reads all events that one filter matches from a relay that answers in pages of unknown size.
package paging

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
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

// around returns the span with a second more at each end, for a relay that takes both ends for exclusive.
func (s Span) around() Span {
	if s.Since > First {
		s.Since--
	}
	if s.Until < Forever {
		s.Until++
	}
	return s
}

func (s Span) has(at int64) bool { return at >= s.Since && at <= s.Until }

// Habits are what a relay has shown of how it answers. All Pagers of one connection share them.
type Habits struct {
	limit     int  // of the questions
	most      int  // events in the largest answer to them: one with fewer is not cut
	cut       int  // events in an answer that proved to be cut; 0 = none did
	least     int  // events in the smallest answer that proved to be cut, from fewCut on; 0 = none did
	exclusive bool // since and until are exclusive
	wary      bool // it does not answer newest first, or not evenly: an answer of half as many events as the largest may be cut

	part  int     // events that a part should have, as connections ended within larger answers; 0 = about three quarters of the largest answer
	came  int     // events on this connection
	ended bool    // an answer ended on this connection
	bore  bool    // one did on the last connection
	large []int64 // seconds of an event that ended the connection, and that are not asked for
}

// full takes an answer of n events to a question for at most limit, and reports whether it may be cut.
func (h *Habits) full(n, limit int) bool {
	if h.limit != 0 && limit != h.limit {
		h.most = 0
	}
	h.limit = limit
	full := n > 0 && n >= h.most || n == limit || h.wary && h.doubtful(n)
	h.most = max(h.most, n)
	return full
}

// doubtful reports whether an answer of n events may be cut, where a relay is not taken at its word.
func (h *Habits) doubtful(n int) bool { return n > 0 && 2*n >= h.most || h.least > 0 && n >= h.least }

// Pager reads all events that one filter matches from a relay that answers in pages of unknown size.
//
// A Pager believes an answer to be complete only where the relay has given more events to another question: whichever events a relay leaves
// out of a page, it leaves none out of one that is not full. A full answer proves nothing but itself, so the Pager asks for its times again in
// parts, until a part is not full or is one second. The first part has about three quarters of the events that came. Where pages are cut, the
// next parts are as long as that one was, and change with what they bring.
//
// The Pager begins each part with the last second of the part before. This costs an event or two, and shows three faults: a relay that counts
// a second less than it is asked for, one whose pages are not all of the same size, as the Pager goes on from the oldest event that came, and one
// that answers a question now so and now so. An event that came before and does not come again has a part asked once more, with a second
// more at each end.
//
// Some relays filter what they have put into a page, so that their pages are not all full. Of one that answers newest first the Pager then has
// the newest events, and goes on below. Of any other it does not know what is missing: once an answer is out of order, or a part brings what
// another answer would have had, the Pager takes an answer for complete only if it has less than half of the largest.
type Pager struct {
	habits   *Habits
	span     Span
	todo     []window // the last one is asked next
	seen     map[uint64]uint32
	page     page
	asks     uint32 // pages and parts of pages
	pages    int
	events   int
	unproven bool
	late     int64 // what the relay has of this time or later is asked for once more, at the end; 0 = nothing is
	again    bool  // the question was asked before, and the connection was lost
	losses   int   // connections lost in a row without an answer
	known    int   // events of the span that are known
	trusted  int   // events of the largest answer that was taken for complete
}

// window is a range of times to ask for.
type window struct {
	Span
	width int64 // seconds that are asked next, at its end; 0 = all of it
	known int   // events that are known and must come with what is asked next
	first int   // events that are known of its first second, and
	last  int   // of its last
	of    int   // it is the rest of an answer of so many events, and brings news only if that answer was cut; 0 = it is not
	again bool  // it is asked a second time, as an event that is known did not come
	came  int   // then: how many came the first time
	lost  int   // connections that ended while it was asked, before anything came: it is asked in small parts
	told  told
}

// told is what an answer before would have had, if it was whole or had the newest events: all between two seconds. News of that time show that
// it was not.
type told struct {
	after, before int64 // both exclusive
	n             int   // events of that answer; 0 = there was none
	uneven        bool  // it was not full, so that the answers differ in size
	alone         bool  // all that it had is of one second, of which there may be more
}

// next is the part of the window that is asked next.
func (w window) next() Span {
	if s := w.Span; w.width > 0 && w.width <= s.Until-s.Since {
		return Span{s.Until - w.width + 1, s.Until}
	}
	return w.Span
}

// page is what the relay has sent of the answer that is under way, each event counted once.
type page struct {
	times []int64 // creation times of the events in the window, as they came
	n     int     // all of them
	fresh int     // in the window, of an id that was not known
	news  int     // fresh events of a time that was told before
	newer int     // fresh events of a later time
	mixed bool    // it was not newest first
}

// A pager gives up at these bounds, against relays that invent history.
const (
	MaxPages  = 20_000
	maxEvents = 1 << 20
)

// MostSeen is how many ids a Pager may know between two pages. With more it
// forgets all; then it may ask once more for the last second that it asked for.
const MostSeen = 1 << 16

// fewExtras bounds the events of the second more at an end that leave no doubt that the window has none.
const fewExtras = 8

// fewCut is how many events an answer must have had to count for one that was cut, and fewNewer how many newer events show that a relay does
// not begin with the newest: one or two may have been published meanwhile.
const (
	fewCut   = 8
	fewNewer = 3
)

// minFullPage is how many events of one second count as more than a page, unless smaller pages proved to be cut.
const minFullPage = 20

// New makes a Pager that reads a span from a relay with habits.
func New(s Span, habits *Habits) *Pager {
	return &Pager{habits: habits, span: s, todo: []window{{Span: s}}, seen: make(map[uint64]uint32)}
}

// Read makes a Pager that has read all.
func Read(habits *Habits) *Pager {
	return &Pager{habits: habits, span: Span{0, Forever}, seen: make(map[uint64]uint32)}
}

// Ended reports whether all is read.
func (p *Pager) Ended() bool { return len(p.todo) == 0 }

// Next returns what to ask now; false at the end.
func (p *Pager) Next() (Span, bool) {
	if len(p.todo) == 0 && p.late > 0 {
		p.todo, p.late = []window{{Span: Span{max(p.late, p.span.Since), p.span.Until}}}, 0
	}
	p.avoid()
	if len(p.todo) == 0 || p.Exhausted() {
		return Span{}, false
	}
	w := p.todo[len(p.todo)-1]
	if p.habits.exclusive || w.again {
		return w.next().around(), true
	}
	return w.next(), true
}

// Exhausted reports whether the pager has given up at MaxPages or maxEvents.
func (p *Pager) Exhausted() bool { return p.pages >= MaxPages || p.events >= maxEvents }

// Received takes one event of the answer that is under way.
func (p *Pager) Received(id nostr.ID, at int64) {
	k := key64(id)
	last, known := p.seen[k]
	if known && last == p.asks {
		return
	}
	p.seen[k] = p.asks
	p.page.n++
	p.habits.came++
	if w := p.todo[len(p.todo)-1]; w.next().has(at) {
		p.page.add(at, known, w.told)
	}
}

// add takes an event of the window.
func (g *page) add(at int64, known bool, t told) {
	g.mixed = g.mixed || len(g.times) > 0 && at > g.times[len(g.times)-1]
	g.times = append(g.times, at)
	switch {
	case known:
		return
	case t.n == 0 || at <= t.after:
	case at < t.before:
		g.news++
	default:
		g.newer++
	}
	g.fresh++
}

func key64(id nostr.ID) uint64 { return binary.BigEndian.Uint64(id[:]) }

// Again forgets the answer that is under way, and asks for it once more. The ids that came stay known.
func (p *Pager) Again() {
	p.page = page{}
	p.asks++
	if len(p.seen) > MostSeen {
		p.Forget()
	}
}

// Forget frees the ids that a Pager knows: while nobody uses it, it can do without.
func (p *Pager) Forget() {
	p.seen, p.known = make(map[uint64]uint32), 0
	for i := range p.todo {
		p.todo[i].known, p.todo[i].told = 0, told{}
	}
}

// end ends an answer. It returns the answer, oldest first, the window that it is about, and what of that was asked.
func (p *Pager) end() (g page, w window, asked Span) {
	g, w = p.page, p.todo[len(p.todo)-1]
	p.pages++
	p.events += g.n
	p.todo = p.todo[:len(p.todo)-1]
	slices.Sort(g.times)
	if w.of > 0 && g.fresh > 0 {
		p.habits.cut, w.of = w.of, 0
	}
	p.known += g.fresh
	p.learn(g, w.told)
	return g, w, w.next()
}

// learn takes what an answer shows of an answer before, and of the order that the relay has.
func (p *Pager) learn(g page, t told) {
	h := p.habits
	begins := !t.uneven && g.newer >= fewNewer && (8*g.newer >= g.n || h.nearlyFull(g.n)) // the answer before did not begin with the newest
	h.wary = h.wary || g.mixed || begins || g.news > 0 && !t.uneven
	if begins || g.news > 0 {
		h.wasCut(t.n)
	}
	p.unproven = p.unproven || t.alone && g.news > 0
}

// nearlyFull reports whether an answer of n events may be a page of a relay that filters its pages once they are full.
func (h *Habits) nearlyFull(n int) bool { return n >= fewCut && 5*n >= 4*h.most }

// hides reports whether there may be more in a second than the n events that came.
func (h *Habits) hides(n int, full bool) bool {
	if h.wary && n < h.most {
		return n >= fewCut && 4*n >= 3*cmp.Or(h.least, max(h.most, minFullPage))
	}
	return full && (n >= minFullPage || h.cut > 0 && n >= h.cut) || h.least > 0 && (n >= h.least || h.nearlyFull(n))
}

// wasCut records that an answer of n events was cut.
func (h *Habits) wasCut(n int) {
	if n >= fewCut && (h.least == 0 || n < h.least) {
		h.least = n
	}
}

// Done ends an answer to a question for at most limit events, and decides what to ask next.
func (p *Pager) Done(limit int) {
	g, w, asked := p.end()
	defer p.Again()
	p.again, p.losses, p.habits.ended = false, 0, true
	full := p.habits.full(g.n, limit)
	lacks := w.lacks(g, asked)
	if p.habits.wary && p.habits.doubtful(p.trusted) {
		p.restart()
		return
	}
	if !full && lacks >= fewCut && (w.again || p.habits.exclusive) { // more than ends and deletions explain
		p.habits.wasCut(g.n)
		p.habits.wary, full = true, true
	}
	if !full {
		p.trusted = max(p.trusted, g.n)
	}
	switch {
	case !full && lacks > 0 && !w.again:
		w.again, w.came = true, len(g.times)
		p.todo = append(p.todo, w)
	case w.again && lacks <= 0 && !p.habits.exclusive: // with a second more at each end all came
		p.habits.exclusive, p.habits.least = true, 0
		p.restart()
	case asked.Since == asked.Until:
		p.doubt(g, w, lacks)
		p.second(g, w, full)
	case len(g.times) == 0 && g.n >= fewExtras && p.much(g.n), full && len(g.times) > 0:
		p.split(g, w)
	default:
		p.doubt(g, w, lacks)
		p.complete(g, w, asked, lacks)
	}
}

// restart asks for all of the span again, as what is known of the relay has changed.
func (p *Pager) restart() { p.todo, p.trusted = []window{{Span: p.span, known: p.known}}, 0 }

// lacks returns how many events an answer lacks that are known. Those at the ends are counted apart: others that are known may make up for
// them, which a full answer before did not have.
func (w window) lacks(g page, asked Span) int {
	n := max(w.known-(len(g.times)-g.fresh), w.last-g.within(w.Until))
	if asked.Since == w.Since {
		n = max(n, w.first-g.within(w.Since))
	}
	return n
}

// within returns how many events of the answer are of a second.
func (g page) within(second int64) int { return after(g.times, second) - after(g.times, second-1) }

// doubt notes that a second answer to the same question is another one.
func (p *Pager) doubt(g page, w window, lacks int) {
	if w.differs(g, lacks) || w.again && lacks > 0 && p.habits.nearlyFull(g.n) {
		p.unproven, p.habits.wary = true, true
	}
}

// differs reports whether a second answer to the same question is another one. That an event has gone meanwhile is no difference.
func (w window) differs(g page, lacks int) bool {
	return w.again && (lacks <= 0 || len(g.times) < w.came || g.fresh > 0)
}

// much reports whether an answer of n events is so large that it may have been cut by a relay whose pages differ in size.
func (p *Pager) much(n int) bool { return 8*n >= p.habits.most }

// second goes on after the answer for one second, which has no parts.
func (p *Pager) second(g page, w window, full bool) {
	if full && g.fresh > 0 {
		p.todo = append(p.todo, w)
		return
	}
	p.unproven = p.unproven || p.habits.hides(g.n, full)
	p.push(Span{w.Since, w.Until - 1}, window{width: p.widen(w, g.n), of: w.of, lost: w.lost})
}

// split asks for a window again in parts, as the answer was full: the first part has about three quarters of what came.
func (p *Pager) split(g page, w window) {
	if len(g.times) == 0 { // all that came is of the second more at an end
		half := w.Since + (w.Until-w.Since)/2
		p.push(Span{w.Since, half}, window{of: w.of})
		p.push(Span{half + 1, w.Until}, window{})
		return
	}
	oldest, newest := g.times[0], g.times[len(g.times)-1]
	if oldest == newest {
		p.push(Span{w.Since, oldest - 1}, window{of: g.n})
		p.push(Span{oldest, oldest}, window{known: len(g.times)})
		if oldest < w.Until {
			p.push(Span{oldest + 1, w.Until}, window{told: told{after: oldest, before: oldest, n: g.n}})
		}
		return
	}
	from := g.times[max(len(g.times)/4, len(g.times)-p.habits.aim())]
	if from == oldest {
		from = g.times[after(g.times, oldest)]
	}
	n := after(g.times, from-1)
	before := told{after: oldest, before: newest, n: g.n}
	rest := window{of: g.n, known: n, last: g.within(from - 1), told: before}
	if p.habits.cut > 0 || p.habits.part > 0 {
		rest.width, rest.known = (newest-oldest)/4*3+1, 0
		if p.habits.part > 0 {
			rest.width = max(1, min(rest.width, (newest-oldest)*int64(p.habits.part)/int64(len(g.times))))
		}
	}
	p.push(Span{w.Since, from - 1}, rest)
	p.push(Span{from, w.Until}, window{known: len(g.times) - n, first: g.within(from), last: w.last, told: before})
}

// after returns how many of times are not after at.
func after(times []int64, at int64) int {
	n, _ := slices.BinarySearchFunc(times, at, func(x, at int64) int {
		if x <= at {
			return -1
		}
		return 1
	})
	return n
}

// complete goes on after an answer that is not full: below its oldest event, as pages may differ in size.
func (p *Pager) complete(g page, w window, asked Span, lacks int) {
	rest, next := Span{w.Since, asked.Since}, window{width: p.widen(w, len(g.times)), of: w.of, lost: w.lost}
	below := len(g.times) > 0 && g.times[0] > asked.Since && (g.fresh > 0 || lacks > 0 || p.much(len(g.times)))
	switch {
	case len(g.times) > 0 && g.times[0] < asked.Until:
		rest.Until, next.known = g.times[0], after(g.times, g.times[0])
	case below:
		rest.Until = asked.Until - 1
	}
	if below {
		alone := g.times[0] == asked.Until
		next.told = told{after: asked.Since, before: g.times[0], n: g.n, uneven: true, alone: alone}
		p.unproven = p.unproven || alone && p.habits.hides(g.n, false)
	}
	if below || asked.Since > w.Since {
		p.push(rest, next)
	}
}

// widen returns how many seconds of a window to ask for after a part of it brought n events.
func (p *Pager) widen(w window, n int) int64 {
	switch {
	case w.width == 0 || w.width > longest:
		return 0
	case w.lost > 0:
		return 2 * w.width
	case 3*n < p.habits.aim():
		return 0
	}
	return max(1, w.width*int64(p.habits.aim())/int64(max(n, 1)))
}

// aim returns how many events a part should have.
func (h *Habits) aim() int {
	if whole := 3 * h.most / 4; h.part == 0 || whole < h.part {
		return whole
	}
	return h.part
}

const longest = 1 << 40 // seconds of a part; more is all

// push adds a range to ask for next, unless it is empty.
func (p *Pager) push(s Span, w window) {
	if s.Since <= s.Until {
		w.Span = s
		p.todo = append(p.todo, w)
	}
}

// Cut ends an answer that broke off, because the relay went on and on or the connection was lost. Cut believes nothing about the events that
// came but that the relay gives so many at once: it asks again for all of the range, in parts. One second has no parts: if there was too
// much in it, it cannot be read. Cut reports whether most of the events that came were not known.
func (p *Pager) Cut(tooMuch bool) bool {
	if w := p.todo[len(p.todo)-1].next(); p.page.n == 0 || w.Since == w.Until && !tooMuch {
		p.Again()
		return false
	}
	g, w, asked := p.end()
	p.habits.most = max(p.habits.most, g.n)
	if asked.Since == asked.Until {
		p.unproven = true
		p.push(Span{w.Since, w.Until - 1}, window{width: w.width})
	} else {
		p.split(g, w)
	}
	p.Again()
	return g.fresh > g.n/2
}

// Unproven reports whether the relay may have events that it did not send: those of a second with more than a page, those beyond MaxPages,
// or some that come now and then.
func (p *Pager) Unproven() bool { return p.unproven || p.Exhausted() }

// Found reports whether any page had an event.
func (p *Pager) Found() bool { return p.events > 0 }

// Size is how many ids and ranges a Pager holds, and how many pages it has read.
type Size struct{ Seen, Ranges, Pages int }

// Size returns how much the Pager holds. At most MostSeen ids outlive a page, and there are up to three ranges for each page.
func (p *Pager) Size() Size { return Size{len(p.seen), len(p.todo), p.pages} }
