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

// wait is how long it takes until something may be asked.
func (a *allowance) wait(now health.Now, first bool) time.Duration {
	return a.sort(first).Wait(at(now), vain)
}

func (a *allowance) began(now health.Now, first bool) {
	a.sort(first).Charge(at(now), vain, perFetch)
}

// ended counts the requests that a fetch has taken. What brought something costs nothing, and earns more.
func (a *allowance) ended(now health.Now, first bool, o Outcome) {
	n := float64(0)
	if o.Requests > 0 {
		n = float64(o.Requests - perFetch)
	}
	if len(o.Brought) > 0 && o.Answer != Ours {
		n = -perFetch - earned
	}
	a.sort(first).Charge(at(now), vain, n)
}

// next is when more may be asked of some sort, 0 where that is now.
func (a *allowance) next(now health.Now) (wait time.Duration) {
	for _, first := range []bool{true, false} {
		if w := a.wait(now, first); w > 0 && (wait == 0 || w < wait) {
			wait = w
		}
	}
	return wait
}

func (a *allowance) full(now health.Now) bool {
	return a.first.Full(at(now)) && a.again.Full(at(now))
}

// allowance is that of a host.
func (p *Plan) allowance(host string) *allowance {
	a := p.allowances[host]
	if a == nil {
		a = &allowance{}
		p.allowances[host] = a
	}
	return a
}
