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
	at    time.Time // of the next look, by the monotonic clock; the zero time is now
}

// expect makes sure of a look at that unix time.
func (x *expiry) expect(at int64, wall time.Time) {
	if wait := until(at, wall); wait < time.Until(x.at) {
		x.at = time.Now().Add(wait)
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

// expiring is the chore of deleting what has expired, some of it at a time.
type expiring struct {
	w *writer
	expiry
}

func (x *expiring) next() time.Time {
	if x.w.stops {
		return never
	}
	return x.at
}

func (x *expiring) step() error {
	now, wall := time.Now(), x.w.door.now()
	x.at = now.Add(expiryLook)
	if wait := x.clock.look(wall, now); wait > 0 {
		x.at = now.Add(min(wait, expiryLook))
		return nil
	}
	return x.due(wall)
}

func (x *expiring) due(wall time.Time) error {
	w := x.w
	if w.round.batch == nil {
		if quiet := min(w.door.store.QuietUntil(), w.door.store.UnusedQuietUntil()); quiet > wall.Unix() {
			x.expect(quiet, wall)
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
		x.at = time.Time{}
	} else if !next.IsZero() {
		x.expect(next.Unix(), wall)
	}
	if err := x.ageDeletions(wall); err != nil {
		return err
	}
	return w.prune()
}

// sweepAtOnce is how many marks of deletions are looked at in one step.
const sweepAtOnce = 1000

// ageDeletions removes deletions that have removed nothing and whose time is over, and then the marks of such.
func (x *expiring) ageDeletions(wall time.Time) error {
	b := x.w.round.batch
	next, n, err := b.AgeDue(wall, expireAtOnce)
	if err != nil {
		return err
	}
	x.w.round.decided += n
	if n == expireAtOnce {
		x.at = time.Time{}
		return nil
	}
	if !next.IsZero() {
		x.expect(next.Unix(), wall)
	}
	more, err := b.SweepMarks(wall, sweepAtOnce)
	if more {
		x.at = time.Time{}
	}
	return err
}

func (x *expiring) failed(error) {}
func (x *expiring) kept()        {}
func (x *expiring) undone()      {}
