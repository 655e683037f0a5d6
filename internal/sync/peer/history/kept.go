package history

import (
	"github.com/graspd/graspd/internal/base/backoff"
)

// Record returns what is kept of the attempts over restarts. connected says that no dial is planned.
func (a *Attempts) Record(now backoff.Now, connected bool) Record {
	r := Record{
		At: now.Wall, Failures: a.failures.N, FirstFailure: a.FailingSince(now), Cause: a.Trouble(), Revived: a.revived.Wall,
		Ourself: a.ourself, Owners: a.owners,
	}
	if a.asked.planned > now.Mono {
		r.Planned = now.Wall.Add(a.asked.planned - now.Mono)
	}
	if !connected && a.at > now.Mono {
		r.NextAttempt = now.Wall.Add(a.at - now.Mono)
	}
	return r
}

// Recall begins with what Record had returned.
func (a *Attempts) Recall(now backoff.Now, r Record) {
	a.owners, a.ourself, a.cause = r.Owners, r.Ourself, r.Cause
	if !r.Revived.IsZero() {
		a.revived = now.Before(max(0, now.Wall.Sub(r.Revived)))
	}
	if r.Failures > 0 {
		a.failures = backoff.Failures{N: r.Failures, First: now.Before(r.Failing())}
	}
	a.at = now.Mono + r.wait(a.terms, now.Wall)
	if r.NextAttempt.IsZero() && !r.Planned.IsZero() {
		r.NextAttempt = r.Planned
		a.asked.planned = now.Mono + r.wait(a.terms, now.Wall)
	}
}
