package history

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/slots"
)

// failuresToYield is how many failures in a row make a slot unused until the next attempt.
const failuresToYield = 3

// stuckAfter is how long a connection may bring nothing to confirm while others wait.
const stuckAfter = 30 * time.Minute

// UseOf tells what a relay that stands so makes of its slot.
func UseOf(s status.Relay) slots.Use {
	switch {
	case s.OnlyMailbox && s.Phase == status.PhaseWaiting:
		return slots.Unused
	case s.OnlyMailbox: // a visit comes to an end
		return slots.Trying
	case s.Connected && s.Confirmed.Items() > 0:
		return slots.Firm
	case s.Connected && s.ConnectedFor >= stuckAfter:
		return slots.Stuck
	case s.Ourself, s.Phase == status.PhaseWaiting && s.Failures >= failuresToYield:
		return slots.Unused
	}
	return slots.Trying
}

// Use tells what the relay would make of a slot at the time now.
func (r Record) Use(t backoff.Policy, now time.Time) slots.Use {
	if r.Ourself || !r.Due(t, now) {
		return slots.Unused
	}
	return slots.Trying
}

// Yielded is the record of a relay that lost its slot when it made that use of
// it. One that was stuck is not the first to get another.
func (r Record) Yielded(u slots.Use) Record {
	if u == slots.Stuck {
		r.NextAttempt = r.At.Add(stuckAfter)
	}
	return r
}
