package ingest

import (
	"fmt"
	"time"
)

// expireAtOnce is how many are deleted in one step, so that no client waits for many.
const expireAtOnce = 100

// expiryLook is the longest time between two looks at what expires, so that a clock that was set is noticed.
const expiryLook = time.Minute

// expiry says when to delete next what has expired. A clock that was set may be wrong, so nothing is deleted until it
// has run evenly for ten minutes.
type expiry struct {
	clock steadiness
	next  time.Time // of the next look, by the monotonic clock; the zero time is now
}

// expect makes sure of a look at that unix time.
func (x *expiry) expect(at int64, wall time.Time) {
	if wait := until(at, wall); wait < time.Until(x.next) {
		x.next = time.Now().Add(wait)
	}
}

// until is the time from wall to a unix time, at most expiryLook, whatever a stranger wrote there.
func until(at int64, wall time.Time) time.Duration {
	switch now := wall.Unix(); {
	case at <= now:
		return 0
	case uint64(at)-uint64(now) >= uint64(expiryLook/time.Second):
		return expiryLook
	default:
		return time.Duration(at-now) * time.Second
	}
}

// expire deletes what has expired, some of it at a time, if it is time to look.
func (w *writer) expire() {
	now := time.Now()
	if now.Before(w.expiry.next) {
		return
	}
	wall := w.door.now()
	w.expiry.next = now.Add(expiryLook)
	if wait := w.expiry.clock.look(wall, now); wait > 0 {
		w.expiry.next = now.Add(min(wait, expiryLook))
		return
	}
	if err := w.expireDue(wall); err != nil {
		w.abort(err)
	}
}

func (w *writer) expireDue(wall time.Time) error {
	if w.round.batch == nil {
		if quiet := w.door.store.QuietUntil(); quiet > wall.Unix() {
			w.expiry.expect(quiet, wall)
			return nil
		}
	}
	if err := w.open(); err != nil {
		return err
	}
	next, n, err := w.round.batch.ExpireDue(wall, expireAtOnce)
	if err != nil {
		return fmt.Errorf("delete what has expired: %w", err)
	}
	w.round.decided += n
	if n == expireAtOnce {
		w.expiry.next = time.Time{}
	} else if !next.IsZero() {
		w.expiry.expect(next.Unix(), wall)
	}
	return w.prune()
}
