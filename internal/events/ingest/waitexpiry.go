package ingest

import (
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// lapseAtOnce is how many waits one step ends.
const lapseAtOnce = 100

// lapsing is the chore of ending the waits of events whose git data did not come in time. As with expiry, no wait ends until the wall clock
// has run evenly for clockTrust.
type lapsing struct {
	w *writer
	expiry
}

func (x *lapsing) dueAt() time.Time {
	if x.w.stops || x.w.ledger == nil && x.w.door.store.Waits() == 0 { // without a ledger, events may still wait from before hosting was turned off
		return never
	}
	return x.at
}

func (x *lapsing) step() error {
	w, now, wall := x.w, time.Now(), x.w.door.now()
	x.at = now.Add(expiryLook)
	if wait := x.clock.look(wall, now); wait > 0 {
		x.at = now.Add(min(wait, expiryLook))
		return nil
	}
	if w.open.batch == nil {
		if until := w.door.store.WaitsUntil(); until > wall.Unix() {
			x.expect(until, wall)
			return nil
		}
	}
	if err := w.begin(); err != nil {
		return err
	}
	kept := 0 // events that the ledger keeps beyond their time
	most := x.atMost(lapseAtOnce)
	x.tried = nil
	skip := func(id nostr.ID) bool { return x.skips(w, id) }
	next, n, err := w.open.batch.LapseDue(wall, most, skip, func(e *nostr.Event) bool {
		keep := w.ledger != nil && w.ledger.Keeps(e)
		if keep {
			kept++
		} else {
			w.door.refusals.note(e, "", "", verdictStored(policy.Lapsed).Reason, wall)
		}
		return keep
	})
	if err != nil {
		return fmt.Errorf("end waits that are over: %w", err)
	}
	w.open.decided += n
	w.open.lapsed += n - kept
	if n == most {
		x.at = time.Time{}
	} else if !next.IsZero() {
		x.expect(next.Unix(), wall)
	}
	return nil
}

func (x *lapsing) failed(err error) (nostr.ID, bool) { return x.faulty(x.w, err) }
func (x *lapsing) kept()                             {}
func (x *lapsing) undone()                           {}
