package paging

import "slices"

// window is a range of times to ask for.
type window struct {
	Span
	width  int64 // seconds that are asked next, at its end; 0 = all of it
	known  int   // events that are known and must come with what is asked next
	first  int   // events that are known of its first second, and
	last   int   // of its last
	of     int   // it is the rest of an answer of so many events, and brings news only if that answer was cut; 0 = it is not
	again  bool  // it is asked a second time, as an event that is known did not come; then:
	inside bool  // the first time without a second more at each end, and
	came   int   // how many came the first time
	lost   int   // connections that ended while it was asked, before anything came: it is asked in small parts
	told   told
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

// differs reports whether a second answer to the same question is another one. That an event has gone meanwhile is no difference.
func (w window) differs(g page, lacks int) bool {
	return w.again && (lacks <= 0 || len(g.times) < w.came || g.fresh > 0)
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
