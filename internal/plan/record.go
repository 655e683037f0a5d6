package plan

import (
	"maps"
	"time"

	"github.com/graspd/graspd/internal/capacity"
	"github.com/graspd/graspd/internal/health"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/want"
)

// Record is how a relay has behaved, as it is kept while nobody wants the relay
// and over restarts. Its times are those of the wall clock as of At; time in
// which nobody looked counts neither as failure nor as uptime. The zero value is
// a relay of which nothing is known.
type Record struct {
	At           time.Time // when this was true
	Failures     int       // in a row, since the last progress
	FirstFailure time.Time // of these; zero when there is none
	Cause        string    // of the last of these, or of the pause that the relay asked for
	NextAttempt  time.Time // not before; zero = at once
	LastAlive    time.Time // zero = never connected
	Revived      time.Time // when a new owner last had it tried while it was dead; zero = never
	References   time.Time // when layer 4 is due; zero = not known
	Uptime       health.Uptime
	Alike        bool // it holds nearly what is held here, and is asked as a whole

	Planned time.Time // when it would be tried if no person had asked for a try; zero = none did. Not kept over restarts
	Ourself bool      // it proved to be this relay; not kept over restarts
	HangsUp bool      // when it is asked to reconcile; not kept over restarts

	owners owners // who named it while it was dead; not kept over restarts
}

// owners are those who named a relay while it was dead; nil while it is not. It
// is never changed once it is shared.
type owners map[nostr.PubKey]struct{}

// mostOwners bounds what is remembered of one relay; past it nobody counts as new.
const mostOwners = 1000

// add returns o with the owners of w, and whether any of them is new.
func (o owners) add(w *want.Want) (owners, bool) {
	all := make(owners, len(o))
	maps.Copy(all, o)
	for _, r := range w.Repos {
		if len(all) < mostOwners {
			all[r.Owner] = struct{}{}
		}
	}
	return all, len(all) > len(o)
}

// mostFailing bounds what is believed of a record: it says dead, and no more.
const mostFailing = 10 * 365 * 24 * time.Hour

// Failing is for how long the relay had failed without a break at the time At.
func (r Record) Failing() time.Duration {
	if r.Failures == 0 {
		return 0
	}
	return min(max(0, r.At.Sub(r.FirstFailure)), mostFailing)
}

// Dead says whether that is too long under c.
func (r Record) Dead(c Config) bool {
	return r.Failures > 0 && r.Failing() >= c.withDefaults().DeadAfter
}

// Restarted is the record as a new process takes it: a dead relay is tried once at once.
func (r Record) Restarted(c Config) Record {
	if r.Dead(c) {
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
func (r Record) Due(c Config, now time.Time) bool { return r.wait(c.withDefaults(), now) <= 0 }

// wait is how long to wait at the time now before the next attempt.
func (r Record) wait(c Config, now time.Time) time.Duration {
	if r.NextAttempt.IsZero() {
		return 0
	}
	most := max(c.terms().LongestWait(), capacity.SlowDown)
	if r.Dead(c) {
		most = c.DeadRetry
	}
	return min(max(0, r.NextAttempt.Sub(now)), most)
}

// Record returns what is to be kept of the relay, as of the last Step.
func (p *Peer) Record() Record {
	p.dialing.noteOwners(p.want)
	r := Record{At: p.now.Wall, HangsUp: p.comparing.hangsUp, LastAlive: p.lastAlive, Uptime: p.uptime, Alike: p.whole.alike}
	p.dialing.note(&r, p.conn != nil)
	if at := p.references.inquiry.At(); at != 0 {
		r.References = p.now.Wall.Add(at - p.now.Mono)
	}
	return r
}

// recall takes what was kept, at the first Step.
func (p *Peer) recall(r Record) {
	p.lastAlive, p.uptime, p.whole.alike = r.LastAlive, r.Uptime, r.Alike
	p.meet(!r.LastAlive.IsZero())
	if r.HangsUp {
		p.comparing.recall()
	}
	p.dialing.recall(r)
	if !r.References.IsZero() {
		// A clock that was set does not put it off for longer than a full resync would be.
		wait := min(max(0, r.References.Sub(p.now.Wall)), p.cfg.Resync+p.cfg.Resync/24)
		p.references.inquiry.Plan(p.now.Mono + wait)
	}
}
