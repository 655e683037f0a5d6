package gaps

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
)

// A gap is an event that a stored request brought and that the live REQ for the
// same items should have brought: created when that had been open for a while,
// and some time ago.

// margin is how far a gap is from both ends, in seconds: events take time to arrive.
const margin = 60

// OldEnough reports whether an event was created long enough ago for the live REQs to have brought it.
func OldEnough(e *nostr.Event, now backoff.Now) bool { return e.CreatedAt <= now.Wall.Unix()-margin }

// Missed reports whether the live REQ of one of the items should have brought e. Kinds are the kinds that the relay demands in filters.
func (f *Times) Missed(w *want.Want, kinds demands.Mode, items []want.Item, e *nostr.Event) bool {
	if e.CreatedAt < f.all+margin {
		return false // as most are, which need no closer look
	}
	return slices.ContainsFunc(items, func(it want.Item) bool {
		filters := reqfilter.Of(w, w.Layer(it), []want.Item{it}, true, reqfilter.Bounds{Values: capacity.DenseValues})
		asks := slices.ContainsFunc(filters, func(x nostr.Filter) bool { return kinds.With(x).Matches(e) })
		return asks && e.CreatedAt >= f.Of(it)+margin
	})
}

// MissedByAll reports whether a live REQ for everything that opened at the time since should have brought e.
func (f *Times) MissedByAll(since int64, e *nostr.Event) bool {
	return e.CreatedAt >= max(f.all, since)+margin
}

// Gaps are the gaps of one relay: the newest, and how many the log tells within an hour. They outlive connections. Zero is none.
type Gaps struct {
	last  []status.Gap  // the newest last
	begun time.Duration // of the hour
	lines int
	rest  int  // not told one by one
	grave bool // one of the rest is grave
}

// MostGaps is how many gaps of one relay the operator can see.
const MostGaps = 10

// gapLines is how many gaps the log tells one by one within an hour.
const gapLines = 10

// Note notes one, and by what it was found. It reports whether the gap is told now and not summed up when the hour is over.
func (g *Gaps) Note(now backoff.Now, by string, grave bool, e *nostr.Event) (tell bool) {
	if len(g.last) == MostGaps {
		g.last = slices.Delete(g.last, 0, 1)
	}
	g.last = append(g.last, status.Gap{Found: now.Wall, By: by, ID: e.ID, Kind: e.Kind, Created: time.Unix(e.CreatedAt, 0)})
	if g.lines == 0 {
		g.begun = now.Mono
	}
	if g.lines++; g.lines > gapLines {
		g.rest++
		g.grave = g.grave || grave
		return false
	}
	return true
}

// Last returns the newest gaps, the newest last.
func (g *Gaps) Last() []status.Gap { return slices.Clone(g.last) }

// Due returns when the hour is over; backoff.Never when none has begun.
func (g *Gaps) Due() time.Duration {
	if g.lines == 0 {
		return backoff.Never
	}
	return g.begun + time.Hour
}

// End ends the hour if it is over. It returns how many were not told within it, and whether one of them is grave.
func (g *Gaps) End(now time.Duration) (rest int, grave bool) {
	if now < g.Due() {
		return 0, false
	}
	rest, grave = g.rest, g.grave
	*g = Gaps{last: g.last}
	return rest, grave
}
