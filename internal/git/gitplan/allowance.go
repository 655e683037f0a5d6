package gitplan

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/base/bucket"
)

// graspd bounds how often it asks a host in vain, before the host ever says that it gets too many requests: to 60 requests a minute, half of
// them for data that graspd has not asked that host for yet. graspd asks a host that gives something as fast as the host gives.
const (
	vainPerMinute = 30 // requests of each sort a minute
	vainAtOnce    = 60 // requests of each sort after a while without any
	perFetch      = 3  // requests of a fetch that has not ended
	earned        = 9  // requests more for a fetch that brought something
)

var vain = bucket.Rate{Tokens: vainPerMinute, In: time.Minute, Burst: vainAtOnce}

// allowance bounds the requests to a host, all its ports together.
type allowance struct{ first, again bucket.Bucket }

// sort returns the part of an allowance that a request takes from. First requests and repeated ones have a part each, so that neither keeps the
// other waiting.
func (a *allowance) sort(first bool) *bucket.Bucket {
	if first {
		return &a.first
	}
	return &a.again
}

// at turns a reading of the steady clock into the time that buckets take.
func at(now backoff.Now) time.Time { return time.Unix(0, 0).Add(now.Mono) }

// wait returns how long it takes until graspd may ask the host. A nil allowance stands for a host that was never asked.
func (a *allowance) wait(now backoff.Now, first bool) time.Duration {
	if a == nil {
		return 0
	}
	return a.sort(first).Wait(at(now), vain)
}

func (a *allowance) began(now backoff.Now, first bool) {
	a.sort(first).Charge(at(now), vain, perFetch)
}

// ended counts the requests that a fetch has taken. A fetch that brought something costs nothing, and earns requests.
func (a *allowance) ended(now backoff.Now, first bool, o Outcome) {
	if a == nil { // the plan has forgotten the host
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

func (a *allowance) full(now backoff.Now) bool {
	return a.first.Full(at(now)) && a.again.Full(at(now))
}

// owed returns how long it takes until both parts are full again, like those of a new host.
func (a *allowance) owed(now backoff.Now) time.Duration {
	return a.first.Owed(at(now)) + a.again.Owed(at(now))
}
