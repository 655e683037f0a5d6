package relaysync

import "time"

// batchWindow is a value that decides when changes of the Wants are handed out. The first change opens a window, and further changes do not
// restart it. The window ends early when a relay has answered all that it was asked: the next step of a catch-up waits
// for nothing but these changes. In the long run no more windows end early than would end by themselves. A change after a
// rest waits only a short while, for what comes along with it in one person's push: so graspd soon asks other relays
// for a new repository.
type batchWindow struct {
	window time.Duration
	open   bool
	ends   time.Duration // of the open window
	rested time.Duration // from this time on nothing was handed out for as long as a window lasts
	credit time.Duration // grows with time; each early end costs the length of a window
	at     time.Duration // the time up to which credit is reckoned
}

// mostEarly is how many windows in a row may end early.
const mostEarly = 6

// newBatchWindow returns a batchWindow whose windows last d.
func newBatchWindow(d time.Duration) *batchWindow {
	return &batchWindow{window: d, credit: mostEarly * d}
}

// afterRest is by how much shorter a window is after a rest. As the rest is as long as a window, this hands changes out no
// more often.
const afterRest = 10

// changed notes a change at the time now.
func (g *batchWindow) changed(now time.Duration) {
	if g.open {
		return
	}
	lasts := g.window
	if now >= g.rested {
		lasts /= afterRest
	}
	g.open, g.ends = true, now+lasts
}

// answered notes that a relay has answered all that it was asked. It reports whether that ends the open window.
func (g *batchWindow) answered(now time.Duration) bool {
	g.credit = min(g.credit+now-g.at, mostEarly*g.window)
	g.at = now
	if !g.open || g.credit < g.window {
		return false
	}
	g.credit -= g.window
	return true
}

// due returns when the open window ends; false when none is open.
func (g *batchWindow) due() (time.Duration, bool) { return g.ends, g.open }

// handed notes that everything gathered was handed out at the time now. anything says whether any Want changed: most
// events change none.
func (g *batchWindow) handed(now time.Duration, anything bool) {
	if g.open = false; anything {
		g.rested = now + g.window
	}
}
