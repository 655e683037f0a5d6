package relay

import (
	"context"
	"errors"
	"time"

	"graspd/internal/store"
)

// stepsPerRequest is how much of the store's work costs as much as a request; about 5 ms.
const stepsPerRequest = 5000

// maxHeld is how long an event that was found waits, at the most, for others to be found.
const maxHeld = 20 * time.Millisecond

var errCostly = errors.New("too much work")

// pace lets the reader go on when the client's address may have another request; it slows down, and refuses nothing. All
// frames are requests but events that are taken, which have a rate of their own.
func (s *session) pace(work context.Context) error {
	for {
		wait := s.relay.visitors.admit(s.visitor)
		if wait == 0 {
			return nil
		}
		if err := sleep(work, wait); err != nil {
			return err
		}
	}
}

// repay lets the reader go on when the client's address has paid for what its events have made for work.
func (s *session) repay(work context.Context) error {
	for {
		wait := s.relay.visitors.owed(s.visitor)
		if wait == 0 {
			return nil
		}
		if err := sleep(work, wait); err != nil {
			return err
		}
	}
}

// billed is a meter that charges the client's address for the work that a request makes, and ends what goes beyond most.
func (s *session) billed(most int) store.Meter {
	return func(steps int) error {
		s.relay.visitors.charge(s.visitor, steps)
		if most -= steps; most < 0 {
			return errCostly
		}
		return nil
	}
}

// slowed is a meter that moreover waits while the address has used up more than its share. It is for what holds up nobody else,
// and for the writer, whose frames do not wait for long.
func (s *session) slowed(ctx context.Context, most int) store.Meter {
	bill := s.billed(most)
	return func(steps int) error {
		if err := bill(steps); err != nil {
			return err
		}
		for {
			wait := s.relay.visitors.debt(s.visitor)
			if _, held := s.cork.waiting(); wait > 0 || held > maxHeld {
				if err := s.flush(); err != nil {
					return err
				}
			}
			if wait == 0 {
				return nil
			}
			if err := sleep(ctx, wait); err != nil {
				return err
			}
		}
	}
}

// takeTurn waits until no other client of the same address has work that many wait for, so that each address stands in that
// line once.
func (s *session) takeTurn(work context.Context) (end func(), err error) {
	if s.visitor == nil {
		return func() {}, nil
	}
	select {
	case s.visitor.turn <- struct{}{}:
		return func() { <-s.visitor.turn }, nil
	case <-work.Done():
		return nil, context.Cause(work)
	}
}

// sleep waits, or gives the cause why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
