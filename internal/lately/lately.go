// Package lately keeps how much each of many has used of something a short while ago. What was used counts half after each
// minute, so that who has used much comes last for some minutes and not for ever.
package lately

import (
	"maps"
	"math"
	"time"
)

const (
	half = time.Minute // in which what was used comes to count half
	most = 1024        // that are kept while some of them count for nothing
)

// Use is how much each has used. The zero value is that nobody has used anything. Whoever has it guards it.
type Use[K comparable] struct{ by map[K]use }

type use struct {
	seconds float64
	at      time.Time
}

func (u use) lately(now time.Time) int {
	return int(u.seconds * math.Exp2(-max(0, now.Sub(u.at).Seconds())/half.Seconds()))
}

// Add notes that somebody has used it for so long, up to now.
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

// Seconds is how long somebody has used it lately, in whole seconds: who used little is like who used nothing.
func (u *Use[K]) Seconds(now time.Time, who K) int {
	x, ok := u.by[who]
	if !ok {
		return 0
	}
	return x.lately(now)
}
