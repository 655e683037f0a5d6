// Package gather decides for how long what changes is gathered before it is handed out, as a value that is told the time.
package gather

import "time"

// Window decides when changes of what is wanted are handed out. They are gathered in a window that starts with the first
// and does not restart. It ends early when a relay has answered all that it was asked: the next step of a catch-up waits
// for nothing but these changes. In the long run no more windows end early than would end by themselves. A change after a
// rest waits only for what comes with it, as one person's push does, so that a new repository is asked for elsewhere at once.
type Window struct {
	window time.Duration
	open   bool
	ends   time.Duration // of the open window
	rested time.Duration // from when on nothing was handed out for as long as a window lasts
	credit time.Duration // each early end costs the length of a window
	at     time.Duration // up to where credit is reckoned
}

// mostEarly is how many windows in a row may end early.
const mostEarly = 6

// New returns one whose windows last d.
func New(d time.Duration) *Window { return &Window{window: d, credit: mostEarly * d} }

// afterRest is which part of a window what begins after a rest lasts. As the rest is as long as a window, changes are handed
// out no more often by it.
const afterRest = 10

// Changed notes a change at the time now.
func (g *Window) Changed(now time.Duration) {
	if g.open {
		return
	}
	lasts := g.window
	if now >= g.rested {
		lasts /= afterRest
	}
	g.open, g.ends = true, now+lasts
}

// Answered notes that a relay has answered all that it was asked. It reports whether the open window ends with that.
func (g *Window) Answered(now time.Duration) bool {
	g.credit = min(g.credit+now-g.at, mostEarly*g.window)
	g.at = now
	if !g.open || g.credit < g.window {
		return false
	}
	g.credit -= g.window
	return true
}

// Due returns when the open window ends; false when none is open.
func (g *Window) Due() (time.Duration, bool) { return g.ends, g.open }

// Handed notes that everything gathered was handed out at the time now, and whether that was anything: most of what comes
// changes nothing that is wanted.
func (g *Window) Handed(now time.Duration, anything bool) {
	if g.open = false; anything {
		g.rested = now + g.window
	}
}
