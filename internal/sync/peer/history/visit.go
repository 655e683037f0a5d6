package history

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
)

// VisitDue says whether a relay that is only visited may be visited at the time now. A clock that was set does not put it off for
// longer than a full resync would be.
func (r Record) VisitDue(t backoff.Policy, resync time.Duration, now time.Time) bool {
	wait := r.References.Sub(now)
	return !r.Ourself && r.Due(t, now) && (wait <= 0 || wait > resync+resync/24)
}

// VisitNow is the record of a relay that the operator wants to be visited at once.
func (r Record) VisitNow() Record {
	r.References = time.Time{}
	return r.Retried()
}
