package unsolicited

import "time"

// Harm counts what a connection brought, to notice one that does harm by frames that are forged, malformed or not asked for.
type Harm struct {
	bad, good int
	since     time.Duration
}

// Bounds of bad frames within an hour: in all, and above the good ones.
const (
	mostBad   = 1000
	mostWorse = 100
)

// NewHarm returns the Harm of a connection that opens at the time now, by the steady clock.
func NewHarm(now time.Duration) Harm { return Harm{since: now} }

// Good counts a frame that brought what was asked for.
func (h *Harm) Good() { h.good++ }

// Bad counts frames that harm. It reports whether they are too many.
func (h *Harm) Bad(n int, now time.Duration) bool {
	if now-h.since > time.Hour {
		*h = NewHarm(now)
	}
	h.bad += n
	return h.bad >= mostBad || h.bad >= h.good+mostWorse
}
