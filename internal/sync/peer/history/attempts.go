package history

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/sync/want"
)

// Attempts are the attempts to connect to one relay. How earlier attempts and connections have ended decides when the relay is dialed next. The
// caller dials, and tells the time and what came of it. Attempts outlive connections. One goroutine uses them.
type Attempts struct {
	terms    backoff.Policy
	at       time.Duration // no dial before
	failures backoff.Failures
	cause    string // of the last failure
	asked    asked
	slowedBy int         // attempts in a row that the relay met by asking to slow down
	revived  backoff.Now // when a new owner last had the relay tried while it was dead; zero = never
	owners   Owners      // who named the relay while it was dead
	ourself  bool        // the address leads to this relay
}

// Times and counts of attempts.
const (
	StableAfter    = 5 * time.Minute // a connection that has lasted so long makes up for earlier failures
	reviveInterval = time.Hour       // a dead relay that gained an owner is tried at most that often
	mostSlowed     = 3               // times in a row that a relay may ask to slow down instead of connecting; then that is a failure like any other
)

// NewAttempts returns the attempts to connect to a relay that was never dialed.
func NewAttempts(t backoff.Policy) Attempts { return Attempts{terms: t} }

// At returns when the relay is dialed next.
func (a *Attempts) At() time.Duration { return a.at }

// Failures counts the failures in a row.
func (a *Attempts) Failures() int { return a.failures.N }

// Ourself reports whether the relay proved to be this one.
func (a *Attempts) Ourself() bool { return a.ourself }

// Retry plans a dial for now, as a person asked for that. waits says that a dial was planned.
func (a *Attempts) Retry(now backoff.Now, waits bool) {
	if waits && a.at > now.Mono {
		a.asked.planned = a.at
	}
	a.at = min(a.at, now.Mono)
}

// Connected notes that a connection was made.
func (a *Attempts) Connected() { a.slowedBy = 0 }

// IsOurself notes that the relay proved to be this one.
func (a *Attempts) IsOurself() { a.ourself = true }

// Slowed notes that the relay asked to slow down instead of connecting. It returns how long to wait; false where the relay has asked too
// often.
func (a *Attempts) Slowed(now backoff.Now) (wait time.Duration, ok bool) {
	if a.slowedBy >= mostSlowed {
		return 0, false
	}
	wait, ours := a.asked.slowed(now)
	if ours {
		a.slowedBy++
	}
	a.cause = "asked to slow down"
	a.at = now.Mono + wait
	return wait, true
}

// Failed notes the end of a connection or an attempt, plans the next attempt, and returns how long to wait for it.
func (a *Attempts) Failed(now backoff.Now, reason string) (wait time.Duration) {
	wait = a.asked.failed(&a.failures, a.terms, now)
	a.cause, _ = safetext.Cut(reason, LongestCause)
	a.at = now.Mono + wait
	return wait
}

// Flooded notes that the last connection ended because of what the relay sent on it.
func (a *Attempts) Flooded() { a.failures.Flooded = true }

// Stable notes that a connection has lasted for StableAfter: earlier failures do not count any more.
func (a *Attempts) Stable() { a.failures, a.asked = backoff.Failures{}, asked{} }

// Visited notes the end of a visit that went well: earlier failures do not count any more.
func (a *Attempts) Visited(now backoff.Now) {
	a.Stable()
	a.at, a.cause, a.slowedBy = now.Mono, "", 0
}

// Progress notes that an item is newly confirmed: the relay is worth trying again soon.
func (a *Attempts) Progress() {
	a.failures.Progress()
	a.asked = asked{}
}

// Dead reports whether the relay has failed for too long.
func (a *Attempts) Dead(now backoff.Now) bool { return a.failures.Dead(a.terms, now) }

// Failing returns for how long the relay has failed without a break; 0 when it has not.
func (a *Attempts) Failing(now backoff.Now) time.Duration {
	if a.failures.N == 0 {
		return 0
	}
	return now.Since(a.failures.First)
}

// FailingSince returns the time of the first of the failures in a row; zero when there are none.
func (a *Attempts) FailingSince(now backoff.Now) time.Time {
	if a.failures.N == 0 {
		return time.Time{}
	}
	return now.Wall.Add(-a.Failing(now))
}

// Trouble says why the last attempt or connection ended; empty after one that went well.
func (a *Attempts) Trouble() string {
	if a.failures.N > 0 || a.slowedBy > 0 {
		return a.cause
	}
	return ""
}

// Calm returns when a connection that opened at a time has lasted for StableAfter; false where there are no failures to make up for.
func (a *Attempts) Calm(opened backoff.Now) (at time.Duration, ok bool) {
	return opened.Mono + StableAfter, a.failures.N > 0
}

// NoteOwners notes the owners who name a dead relay. w may be nil.
func (a *Attempts) NoteOwners(now backoff.Now, w *want.Want) {
	switch {
	case !a.Dead(now):
		a.owners = nil
	case a.owners == nil && w != nil:
		a.owners, _ = a.owners.add(w)
	}
}

// Revive plans a dial for now where a new owner names a dead relay.
func (a *Attempts) Revive(now backoff.Now, w *want.Want, connected bool) {
	if a.owners == nil {
		return
	}
	var added bool
	if a.owners, added = a.owners.add(w); !added || connected {
		return
	}
	if a.revived.Wall.IsZero() || now.Since(a.revived) >= reviveInterval {
		a.revived, a.at = now, now.Mono
	}
}
