package history

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// asked is a try that a person asked for: the next attempt stays as near as it was if this one fails, so that whoever looks for a
// fault and tries often does not make the relay wait longer. The zero value is none.
type asked struct {
	planned time.Duration // when the relay would have been tried anyway; 0 = nobody asked
}

// failed counts a failure and returns how long to wait before the next attempt: until the time that was planned before a person asked for
// this one, where that is still to come.
func (a *asked) failed(f *backoff.Failures, t backoff.Policy, now backoff.Now) time.Duration {
	planned := a.planned
	*a = asked{}
	if planned > now.Mono {
		return planned - now.Mono
	}
	return f.Count(t, now)
}

// slowed returns how long to wait for a relay that asked to slow down, and whether that is the answer to a try of our own.
func (a *asked) slowed(now backoff.Now) (wait time.Duration, ours bool) {
	planned := a.planned
	*a = asked{}
	return max(capacity.SlowDown, planned-now.Mono), planned <= now.Mono
}
