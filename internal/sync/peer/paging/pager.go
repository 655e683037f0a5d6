// Package paging reads all events that one filter matches from a relay that answers in pages of unknown size.
package paging

import (
	"encoding/binary"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Pager reads all events that one filter matches from a relay that answers in pages of unknown size.
//
// A Pager believes an answer to be complete only where the relay has given more events to another question: whichever events a relay leaves
// out of a page, it leaves none out of one that is not full. A full answer proves nothing but itself, so the Pager asks for its times again in
// parts, until a part is not full or is one second. The first part has about three quarters of the events that came. Where pages are cut, the
// next parts are as long as four fifths of a page should take, by how dense the events before were: few are full then.
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
	around   bool   // the last question has a second more at each end
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
		p.span.Until = Forever // also where what is read stands below what was compared
		p.todo, p.late = []window{{Span: Span{max(p.late, p.span.Since), p.span.Until}}}, 0
	}
	p.avoid()
	if len(p.todo) == 0 || p.Exhausted() {
		return Span{}, false
	}
	w := p.todo[len(p.todo)-1]
	if p.around = p.habits.exclusive || w.again; p.around {
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
	if begins || g.news > 0 || t.uneven && g.newer > 0 {
		h.wasCut(t.n)
	}
	p.unproven = p.unproven || t.alone && g.news > 0
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
	if !full && lacks >= fewCut && p.around { // more than ends and deletions explain
		p.habits.wasCut(g.n)
		p.habits.wary, full = true, true
	}
	if !full {
		p.trusted = max(p.trusted, g.n)
	}
	switch {
	case !full && lacks > 0 && !w.again:
		w.again, w.inside, w.came = true, !p.around, len(g.times)
		p.todo = append(p.todo, w)
	case w.inside && lacks <= 0: // with a second more at each end all came
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

// doubt notes that a second answer to the same question is another one.
func (p *Pager) doubt(g page, w window, lacks int) {
	if w.differs(g, lacks) || w.again && lacks > 0 && p.habits.nearlyFull(g.n) {
		p.unproven, p.habits.wary = true, true
	}
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
	if p.habits.cut > 0 || p.habits.part > 0 { // of the oldest second there may be more
		rest.width, rest.known = seconds(p.habits.aim(), len(g.times)-g.within(oldest), newest-oldest), 0
	}
	p.push(Span{w.Since, from - 1}, rest)
	p.push(Span{from, w.Until}, window{known: len(g.times) - n, first: g.within(from), last: w.last, told: before})
}

// complete goes on after an answer that is not full: below its oldest event, as pages may differ in size.
func (p *Pager) complete(g page, w window, asked Span, lacks int) {
	rest, next := Span{w.Since, asked.Since}, window{width: p.widen(w, len(g.times)), of: w.of, lost: w.lost}
	below := len(g.times) > 0 && g.times[0] > asked.Since && (g.fresh > 0 || lacks > 0 || p.much(len(g.times)))
	switch {
	case len(g.times) > 0 && g.times[0] < asked.Until:
		rest.Until, next.known = g.times[0], after(g.times, g.times[0])
		next.told = told{after: rest.Until, before: rest.Until, n: g.n, uneven: true}
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

// widen returns how many seconds of a window to ask for after a part of it brought n events. It goes a quarter of the way to the length in which that
// part would have had as many events as it should: one answer says little of the next. Where hardly anything came, all is asked.
func (p *Pager) widen(w window, n int) int64 {
	switch aim := p.habits.aim(); {
	case w.width == 0 || w.width > longest:
		return 0
	case w.lost > 0:
		return 2 * w.width
	case 3*n < aim:
		return 0
	default:
		return max(1, w.width+(min(seconds(aim, n, w.width), 4*w.width)-w.width)/4)
	}
}

// seconds returns in how many seconds so many events are to be expected as a part should have, where n came in so many seconds.
func seconds(aim, n int, in int64) int64 { return max(1, min(in, longest)*int64(aim)/int64(max(n, 1))) }

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
