package bucket

import (
	"maps"
	"math"
	"time"
)

const (
	halfLife    = time.Minute // the time after which what was used counts half
	mostParties = 1024        // beyond, Add forgets the parties that used least, until half as many are left
)

// Usage says how much each of many parties has lately used of something. What was used counts half after each minute, so that a party that
// has used much comes last for some minutes and not for ever. In the zero Usage nobody has used anything. One goroutine at a time may use a
// Usage.
type Usage[K comparable] struct{ by map[K]use }

type use struct {
	seconds float64
	at      time.Time
}

func (u use) lately(now time.Time) int {
	return int(u.seconds * math.Exp2(-max(0, now.Sub(u.at).Seconds())/halfLife.Seconds()))
}

// Add notes that the party who has used it for the time d, up to now.
func (u *Usage[K]) Add(now time.Time, who K, d time.Duration) {
	if u.by == nil {
		u.by = map[K]use{}
	}
	before := u.by[who]
	if !before.at.IsZero() {
		before.seconds *= math.Exp2(-max(0, now.Sub(before.at).Seconds()) / halfLife.Seconds())
	}
	u.by[who] = use{before.seconds + d.Seconds(), now}
	if len(u.by) <= mostParties {
		return
	}
	for least := 1; len(u.by) > mostParties/2; least *= 2 {
		maps.DeleteFunc(u.by, func(_ K, x use) bool { return x.lately(now) < least })
	}
}

// Seconds returns for how long the party who has lately used it, in whole seconds rounded down: little use counts as none.
func (u *Usage[K]) Seconds(now time.Time, who K) int {
	x, ok := u.by[who]
	if !ok {
		return 0
	}
	return x.lately(now)
}

// Lately returns how many seconds count of a use that is under way, and began d ago.
func Lately(d time.Duration) float64 {
	return halfLife.Seconds() / math.Ln2 * (1 - math.Exp2(-d.Seconds()/halfLife.Seconds()))
}
