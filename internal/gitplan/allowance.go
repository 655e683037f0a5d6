package gitplan

import (
	"time"

	"github.com/graspd/graspd/internal/bucket"
	"github.com/graspd/graspd/internal/health"
)

// What a host is asked in vain is bounded before it ever says that there is too much: to 60 requests a minute, half of them for what it
// was not asked for yet. Whoever gives something is asked as fast as they give.
const (
	vainPerMinute = 30 // requests of each sort
	vainAtOnce    = 60 // after a while without
	perFetch      = 3  // requests of a fetch that has not ended
	earned        = 9  // requests more for a fetch that brought something
)

var vain = bucket.Rate{Tokens: vainPerMinute, In: time.Minute, Burst: vainAtOnce}

// allowance is what a host may be asked, whatever its ports.
type allowance struct{ first, again bucket.Bucket }

// sort is the part of an allowance out of which something is asked: what is asked for the first time leaves the rest to be asked again.
func (a *allowance) sort(first bool) *bucket.Bucket {
	if first {
		return &a.first
	}
	return &a.again
}

// at is a reading of the steady clock as buckets take it.
func at(now health.Now) time.Time { return time.Unix(0, 0).Add(now.Mono) }

// wait is how long it takes until something may be asked. Of nil, which is a host that was not asked, nothing was taken yet.
func (a *allowance) wait(now health.Now, first bool) time.Duration {
	if a == nil {
		return 0
	}
	return a.sort(first).Wait(at(now), vain)
}

func (a *allowance) began(now health.Now, first bool) {
	a.sort(first).Charge(at(now), vain, perFetch)
}

// ended counts the requests that a fetch has taken. What brought something costs nothing, and earns more.
func (a *allowance) ended(now health.Now, first bool, o Outcome) {
	if a == nil { // it is not remembered any more
		return
	}
	n := float64(0)
	if o.Requests > 0 {
		n = float64(o.Requests - perFetch)
	}
	if len(o.Brought) > 0 && o.Answer != Ours {
		n = -perFetch - earned
	}
	a.sort(first).Charge(at(now), vain, n)
}

func (a *allowance) full(now health.Now) bool {
	return a.first.Full(at(now)) && a.again.Full(at(now))
}

// owed is how long it takes until as much may be asked as of a host that is new, of both sorts together.
func (a *allowance) owed(now health.Now) time.Duration {
	return a.first.Owed(at(now)) + a.again.Owed(at(now))
}
