package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// Bounds of reading the log at a start: how often an entry is asked for that is not answered, the waits between, of which
// the first doubles, and how often the log of what happens hears how far it is.
const (
	readTries   = 6
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
	tellEvery   = 10 * time.Second
)

// catchUp applies what the log has beyond a store that is opened.
func (r *replica) catchUp(c layout.Counters) error {
	r.head = c.Head
	if err := r.sameHistory(); err != nil {
		return err
	}
	told := time.Now()
	for width := 1; ; width = min(2*width, commitlog.Widest) {
		at := commitlog.Position(r.s.place.Position)
		if time.Since(told) >= tellEvery {
			told = time.Now()
			r.s.opt.Logger.Info("reading the commit log", "position", uint64(at))
		}
		entries, end := commitlog.ReadSome(at+1, width, r.read)
		for _, x := range entries {
			if err := r.s.Apply(x); err != nil {
				return fmt.Errorf("read the log: %w", err)
			}
		}
		if errors.Is(end, commitlog.ErrNone) {
			return nil
		}
		if end != nil {
			return fmt.Errorf("read the log: %w", end)
		}
	}
}

// sameHistory fails where the log has another entry than the store's last one.
func (r *replica) sameHistory() error {
	at := commitlog.Position(r.s.place.Position)
	if at == 0 {
		return nil
	}
	x, err := r.read(at)
	if errors.Is(err, commitlog.ErrNone) || err == nil && x.Chain != r.s.place.Chain {
		return fmt.Errorf("%w: at position %d", ErrHistory, at)
	}
	if errors.Is(err, commitlog.ErrGap) { // a log that begins later goes on from here, or has a gap there too
		return nil
	}
	return err
}

// read reads an entry, and asks again a few times where the log does not answer.
func (r *replica) read(at commitlog.Position) (x commitlog.Entry, err error) {
	wait := firstWait
	for range readTries {
		x, err = r.log.Read(context.Background(), at)
		if err == nil || known(err) {
			return x, err
		}
		if err := sleep.For(context.Background(), wait); err != nil {
			return x, err
		}
		wait = min(2*wait, longestWait)
	}
	return x, err
}

// known reports whether another try would give the same error.
func known(err error) bool {
	for _, is := range []error{commitlog.ErrNone, commitlog.ErrGap, commitlog.ErrClosed, commitlog.ErrDamaged, commitlog.ErrHistory, commitlog.ErrFormat} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}
