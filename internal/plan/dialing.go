package plan

import (
	"time"

	"github.com/graspd/graspd/internal/health"
	"github.com/graspd/graspd/internal/want"
	"github.com/graspd/graspd/internal/words"
)

// dialing is the outside of a connection: how attempts to connect have ended, what is remembered of that, and when the next one is made.
// It outlives connections.
type dialing struct {
	*desk
	at       time.Duration // no dial before
	failures health.Failures
	cause    string // of the last failure
	asked    asked
	slowedBy int        // attempts in a row that the relay met by asking to slow down
	revived  health.Now // when a new owner last had the relay tried while it was dead; zero = never
	owners   owners     // who named the relay while it was dead
	ourself  bool       // the address leads to this relay
}

// mostSlowed is how often in a row a relay may ask to slow down instead of
// connecting; after that it is a failure like any other.
const mostSlowed = 3

// retry has the relay dialed at once, as a person asked for that. waits says that a dial was planned.
func (d *dialing) retry(waits bool) {
	if waits && d.at > d.now.Mono {
		d.asked.planned = d.at
	}
	d.soon()
}

// soon has the relay dialed at once.
func (d *dialing) soon() { d.at = min(d.at, d.now.Mono) }

// connected takes that the relay let this one connect.
func (d *dialing) connected() { d.slowedBy = 0 }

// isOurself takes that the relay proved to be this one.
func (d *dialing) isOurself() { d.ourself = true }

// slowed takes that the relay asked to slow down instead of connecting. It returns how long to wait; false where the relay did so too
// often.
func (d *dialing) slowed() (wait time.Duration, ok bool) {
	if d.slowedBy >= mostSlowed {
		return 0, false
	}
	wait, ours := d.asked.slowed(d.now)
	if ours {
		d.slowedBy++
	}
	d.cause = "asked to slow down"
	d.at = d.now.Mono + wait
	return wait, true
}

// failed takes the end of a connection or an attempt, and sets the time of the next one. It returns how long that is.
func (d *dialing) failed(reason string) (wait time.Duration) {
	wait = d.asked.failed(&d.failures, d.cfg.terms(), d.now)
	d.cause, _ = words.Cut(reason, LongestCause)
	d.at = d.now.Mono + wait
	return wait
}

// flooded notes that the last connection ended for what the relay sent on it.
func (d *dialing) flooded() { d.failures.Flooded = true }

// stable takes that a connection has lasted for long: earlier failures do not count any more.
func (d *dialing) stable() { d.failures, d.asked = health.Failures{}, asked{} }

// visited takes the end of a visit that went well: nothing is held against the relay.
func (d *dialing) visited() {
	d.stable()
	d.at, d.cause, d.slowedBy = d.now.Mono, "", 0
}

// progress takes that an item is confirmed that was not before: the relay is worth trying again soon.
func (d *dialing) progress() {
	d.failures.Progress()
	d.asked = asked{}
}

// dead says whether the relay has failed for too long.
func (d *dialing) dead() bool { return d.failures.Dead(d.cfg.terms(), d.now) }

// failingSince is when the first of the failures in a row was; zero when there are none.
func (d *dialing) failingSince() time.Time {
	if d.failures.N == 0 {
		return time.Time{}
	}
	return d.now.Wall.Add(-d.now.Since(d.failures.First))
}

// trouble says why the relay is not connected, or was not; empty where nothing is held against it.
func (d *dialing) trouble() string {
	if d.failures.N > 0 || d.slowedBy > 0 {
		return d.cause
	}
	return ""
}

// calm names the time at which a connection of the time opened has lasted for long enough to make up for failures.
func (d *dialing) calm(opened health.Now) time.Duration {
	if d.failures.N > 0 {
		return opened.Mono + stableAfter
	}
	return never
}

// noteOwners notes who names a relay that is dead.
func (d *dialing) noteOwners(w *want.Want) {
	switch {
	case !d.dead():
		d.owners = nil
	case d.owners == nil && w != nil:
		d.owners, _ = d.owners.add(w)
	}
}

// revive tries a dead relay at once for an owner who did not name it before.
func (d *dialing) revive(w *want.Want, connected bool) {
	if d.owners == nil {
		return
	}
	var added bool
	if d.owners, added = d.owners.add(w); !added || connected {
		return
	}
	if d.revived.Wall.IsZero() || d.now.Since(d.revived) >= reviveInterval {
		d.revived, d.at = d.now, d.now.Mono
	}
}

// note writes what is to be kept of this. connected says that no dial is planned.
func (d *dialing) note(r *Record, connected bool) {
	r.Ourself, r.Failures, r.Revived, r.owners = d.ourself, d.failures.N, d.revived.Wall, d.owners
	r.FirstFailure, r.Cause = d.failingSince(), d.trouble()
	if d.asked.planned > d.now.Mono {
		r.Planned = d.now.Wall.Add(d.asked.planned - d.now.Mono)
	}
	if !connected && d.at > d.now.Mono {
		r.NextAttempt = d.now.Wall.Add(d.at - d.now.Mono)
	}
}

// recall takes what was kept.
func (d *dialing) recall(r Record) {
	d.owners, d.ourself, d.cause = r.owners, r.Ourself, r.Cause
	if !r.Revived.IsZero() {
		d.revived = d.now.Before(max(0, d.now.Wall.Sub(r.Revived)))
	}
	if r.Failures > 0 {
		d.failures = health.Failures{N: r.Failures, First: d.now.Before(r.Failing())}
	}
	d.at = d.now.Mono + r.wait(d.cfg, d.now.Wall)
	if r.NextAttempt.IsZero() && !r.Planned.IsZero() {
		r.NextAttempt = r.Planned
		d.asked.planned = d.now.Mono + r.wait(d.cfg, d.now.Wall)
	}
}
