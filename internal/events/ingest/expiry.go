package ingest

import (
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// expireAtOnce is how many expired events one step deletes, so that no client waits for many.
const expireAtOnce = 100

// expiryLook is the longest time between two looks for expired events, so that the writer notices a clock that was set.
const expiryLook = time.Minute

// expiry knows when to look for expired events next. A wall clock that was just set may be wrong, so nothing is deleted until the clock has
// run evenly for clockTrust.
type expiry struct {
	clock steadiness
	at    time.Time  // when to look next, with a monotonic reading; the zero time is now
	fewer int        // after a fault, how many events a step takes at most until the one at fault is found; 0 where there was none
	tried []nostr.ID // the events of the last step
}

// atMost returns how many events the next step takes, at most most.
func (x *expiry) atMost(most int) int {
	if x.fewer > 0 {
		return min(x.fewer, most)
	}
	return most
}

// skips reports whether a step leaves an event out, as the writer has failed over it. It notes the others.
func (x *expiry) skips(w *writer, id nostr.ID) bool {
	if !w.away.out[id] {
		x.tried = append(x.tried, id)
	}
	return w.away.out[id]
}

// faulty has the next step take half as many events as the one that failed, or leaves out the event that failed alone.
func (x *expiry) faulty(w *writer, err error) (id nostr.ID, found bool) {
	switch {
	case w.everybodys(err):
		return id, false
	case len(x.tried) == 0:
		return id, true
	}
	x.fewer, x.at = len(x.tried)/2, time.Time{}
	if x.fewer == 0 {
		id = x.tried[0]
		w.away.leave(id)
	}
	return id, x.fewer == 0
}

// expect makes sure of a look by the unix time at; wall is now by the wall clock.
func (x *expiry) expect(at int64, wall time.Time) {
	if wait := until(at, wall); wait < time.Until(x.at) {
		x.at = time.Now().Add(wait)
	}
}

// until returns the time from wall to a unix time, at least 0 and at most expiryLook. A stranger may have written any number, so until must
// not overflow.
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

// expiring is the chore of deleting expired events, some at a time.
type expiring struct {
	w *writer
	expiry
	aged bool // the writer has failed over old deletions, and leaves them to the next start
}

func (x *expiring) dueAt() time.Time {
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

// due deletes events that have expired by wall. While the store says that nothing is due, it opens no batch.
func (x *expiring) due(wall time.Time) error {
	w := x.w
	if w.open.batch == nil {
		if quiet := min(w.door.store.QuietUntil(), w.door.store.UnusedQuietUntil()); quiet > wall.Unix() {
			x.expect(quiet, wall)
			return nil
		}
	}
	if err := w.begin(); err != nil {
		return err
	}
	most := x.atMost(expireAtOnce)
	x.tried = nil
	next, n, err := w.open.batch.ExpireDue(wall, most, func(id nostr.ID) bool { return x.skips(w, id) })
	if err != nil {
		return fmt.Errorf("delete what has expired: %w", err)
	}
	w.open.decided += n
	if n == most {
		x.at = time.Time{}
	} else if !next.IsZero() {
		x.expect(next.Unix(), wall)
	}
	if err := w.prune(); err != nil || x.aged {
		return err
	}
	if err := x.ageDeletions(wall); err != nil {
		x.tried, x.aged = nil, !w.everybodys(err)
		return err
	}
	return nil
}

// sweepAtOnce is how many marks of deletions one step looks at.
const sweepAtOnce = 1000

// ageDeletions removes deletion requests that have deleted nothing and whose time is over, and then the marks that such requests left.
func (x *expiring) ageDeletions(wall time.Time) error {
	b := x.w.open.batch
	next, n, err := b.AgeDue(wall, expireAtOnce)
	if err != nil {
		return err
	}
	x.w.open.decided += n
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

func (x *expiring) failed(err error) (nostr.ID, bool) { return x.faulty(x.w, err) }
func (x *expiring) kept()                             {}
func (x *expiring) undone()                           {}
