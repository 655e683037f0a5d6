// Package history is what graspd remembers of how one relay has behaved: it is kept while nobody wants the relay, and over restarts. By it the
// relay is tried again, gets a slot, or loses it. Records are values; package peer makes one of what it knows and begins with one, and
// package relaysync keeps them. While the relay is wanted, Attempts say when it is dialed.
package history

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// Record is how a relay has behaved. Its times are those of the wall clock as of At; time in
// which nobody looked counts neither as failure nor as uptime. The zero value is
// a relay of which nothing is known.
type Record struct {
	At           time.Time // when this was true
	Failures     int       // in a row, since the last progress
	FirstFailure time.Time // the first of the failures in a row; zero when there is none
	Cause        string    // of the last of these, or of the pause that the relay asked for
	NextAttempt  time.Time // not before; zero = at once
	LastAlive    time.Time // zero = never connected
	Revived      time.Time // when a new owner last had it tried while it was dead; zero = never
	References   time.Time // when layer 4 is due; zero = not known
	Uptime       backoff.Uptime
	Alike        bool // it holds nearly what is held here, and is asked as a whole

	Planned time.Time // when it would be tried if no person had asked for a try; zero = none did. Not kept over restarts
	Ourself bool      // it proved to be this relay; not kept over restarts
	HangsUp bool      // when it is asked to reconcile; not kept over restarts
	Owners  Owners    // who named it while it was dead; not kept over restarts
}

// LongestCause is how much of a reason is kept. Bytes.
const LongestCause = 300

// mostFailing bounds what is believed of a record: it says dead, and no more.
const mostFailing = 10 * 365 * 24 * time.Hour

// Failing is for how long the relay had failed without a break at the time At.
func (r Record) Failing() time.Duration {
	if r.Failures == 0 {
		return 0
	}
	return min(max(0, r.At.Sub(r.FirstFailure)), mostFailing)
}

// Dead says whether that is too long.
func (r Record) Dead(t backoff.Policy) bool { return r.Failures > 0 && r.Failing() >= t.DeadAfter }

// Restarted is the record as a new process takes it: a dead relay is tried once at once.
func (r Record) Restarted(t backoff.Policy) Record {
	if r.Dead(t) {
		r.NextAttempt = time.Time{}
	}
	return r
}

// Retried is the record of a relay that the operator wants to be tried at once.
func (r Record) Retried() Record {
	if !r.NextAttempt.IsZero() {
		r.Planned, r.NextAttempt = r.NextAttempt, time.Time{}
	}
	return r
}

// Due says whether the relay may be tried at the time now. A clock that was set
// does not put it off for longer than the longest wait.
func (r Record) Due(t backoff.Policy, now time.Time) bool { return r.wait(t, now) <= 0 }

// wait is how long to wait at the time now before the next attempt.
func (r Record) wait(t backoff.Policy, now time.Time) time.Duration {
	if r.NextAttempt.IsZero() {
		return 0
	}
	most := max(t.LongestWait(), capacity.SlowDown)
	if r.Dead(t) {
		most = t.DeadRetry
	}
	return min(max(0, r.NextAttempt.Sub(now)), most)
}
