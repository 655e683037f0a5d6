// Package lately remembers how much each of many parties has lately used of something. Use counts half after each minute, so
// that a party that has used much comes last for some minutes and not for ever.
package lately

import (
	"maps"
	"math"
	"time"
)

const (
	half = time.Minute // the time after which use counts half
	most = 1024        // parties; beyond, Add forgets those whose use counts for nothing
)

// Use says how much each party has lately used. In the zero Use nobody has used anything. One goroutine at a time may use a Use.
type Use[K comparable] struct{ by map[K]use }

type use struct {
	seconds float64
	at      time.Time
}

func (u use) lately(now time.Time) int {
	return int(u.seconds * math.Exp2(-max(0, now.Sub(u.at).Seconds())/half.Seconds()))
}

// Add notes that the party who has used it for the time d, up to now.
func (u *Use[K]) Add(now time.Time, who K, d time.Duration) {
	if u.by == nil {
		u.by = map[K]use{}
	}
	before := u.by[who]
	if !before.at.IsZero() {
		before.seconds *= math.Exp2(-max(0, now.Sub(before.at).Seconds()) / half.Seconds())
	}
	u.by[who] = use{before.seconds + d.Seconds(), now}
	if len(u.by) > most {
		maps.DeleteFunc(u.by, func(_ K, x use) bool { return x.lately(now) == 0 })
	}
}

// Seconds returns for how long the party who has lately used it, in whole seconds rounded down: little use counts as none.
func (u *Use[K]) Seconds(now time.Time, who K) int {
	x, ok := u.by[who]
	if !ok {
		return 0
	}
	return x.lately(now)
}
