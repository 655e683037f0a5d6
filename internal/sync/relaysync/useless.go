package relaysync

import (
	"context"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// A relay may answer a request with events that are here already, again and again and for ever, and nothing in that is wrong by itself: what others
// have brought meanwhile comes so, and all that is asked for again. So each such event is paid for, and who has none left is read slowly. An event
// of each usefulBytes counts as one more.
var uselessly = bucket.Rate{Tokens: 1000, In: time.Second, Burst: 50_000}

const (
	usefulBytes = 2 << 10
	large       = 512 << 10
)

// useless is the account of the events of one relay that brought nothing. It outlives connections.
type useless struct {
	mu      sync.Mutex
	account bucket.Bucket
}

// cost returns what an event counts for.
func cost(e *nostr.Event) float64 { return costOf(e.Size()) }

// costOf returns what an event of that size counts for. One beyond large is not taken whatever it is, unless it is a state.
func costOf(size int) float64 {
	cost := 1 + size/usefulBytes
	if size > large {
		cost *= 4
	}
	return float64(cost)
}

// charge counts an event that has come, or with a negative cost takes that back.
func (u *useless) charge(now time.Duration, cost float64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.account.Charge(time.Time{}.Add(now), uselessly, cost)
}

// decided takes the cost of an event back that brought something.
func (u *useless) decided(now time.Duration, cost float64, v policy.Verdict) {
	if v.New() || v.Outcome == policy.Failed {
		u.charge(now, -cost)
	}
}

// wait waits until the next message may be read.
func (u *useless) wait(ctx context.Context, now func() time.Duration) error {
	u.mu.Lock()
	d := u.account.Wait(time.Time{}.Add(now()), uselessly)
	u.mu.Unlock()
	return sleep.For(ctx, d)
}
