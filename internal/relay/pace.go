package relay

import (
	"context"
	"errors"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/front"
	"github.com/graspd/graspd/internal/sleep"
	"github.com/graspd/graspd/internal/store"
)

// stepsPerValue is how many steps of work a value of a filter costs, to be read, sorted and put into the index of live filters.
const stepsPerValue = 5

// goneCheck is how long it takes at most until it is noticed that a client who waits has left.
const goneCheck = time.Second

var tooManyPings = &goodbye{code: websocket.StatusPolicyViolation, text: "rate-limited: too many pings from your address"}

// maxDelay is how long an event that was found waits at most for others to be found, so that they are sent together.
const maxDelay = 20 * time.Millisecond

var errCostly = errors.New("too much work")

// pace waits until the client's address may have another request; it refuses nothing. All frames are requests, but for events that go to
// the door, which have a rate of their own.
func (s *session) pace(work context.Context) error {
	return s.await(work, s.visitor.Admit)
}

// received counts bytes that have come from the client.
func (s *session) received(n int) {
	s.frames.bytes.Add(int64(n))
	s.visitor.Received(n)
}

// repay waits until the client's address has paid for the work of deciding its events.
func (s *session) repay(work context.Context) error {
	return s.await(work, s.visitor.DecisionDebt)
}

// paceBytes waits until the client's address may send more, be it messages or anything else that its connections carry. A session
// that ends reads on, for the client's part of the closing.
func (s *session) paceBytes(work context.Context) {
	_ = s.await(work, s.visitor.MayReceive)
}

// await waits for as long as wait says, until wait says 0. It fails when the client leaves or the session ends.
func (s *session) await(work context.Context, wait func() time.Duration) error {
	for {
		d := wait()
		if d == 0 {
			return nil
		}
		if err := s.patient(work, d); err != nil {
			return err
		}
	}
}

// patient waits, for goneCheck at most. It fails when the client is gone, even if there are bytes to be read, or the session ends.
func (s *session) patient(work context.Context, d time.Duration) error {
	if s.cork.hungUp() {
		return errGone
	}
	return sleep.For(work, min(d, goneCheck))
}

// pinged counts a ping, which is a request as well, and reports whether it is to be answered.
func (s *session) pinged() bool {
	s.visitor.Charge(front.StepsPerRequest)
	return s.control() && !s.cork.stalled()
}

// control counts a ping or pong, and ends the session of a client that sends too many.
func (s *session) control() bool {
	if s.visitor.MayControl() {
		return true
	}
	s.end(tooManyPings)
	return false
}

// billed makes a meter that charges the client's address for the work of one request, and fails with errCostly beyond most steps.
func (s *session) billed(most int) store.Meter {
	return func(steps int) error {
		s.visitor.Charge(steps)
		if most -= steps; most < 0 {
			return errCostly
		}
		return nil
	}
}

// slowed makes a meter like billed that also waits while the address is in debt. It is for work of the writer that holds up nobody else.
// The meter flushes the writer's frames before it waits, and when they have waited for maxDelay.
func (s *session) slowed(ctx context.Context, most int) store.Meter {
	bill := s.billed(most)
	return func(steps int) error {
		if err := bill(steps); err != nil {
			return err
		}
		for {
			wait := s.visitor.Debt()
			if _, held := s.cork.waiting(); wait > 0 || held > maxDelay {
				if err := s.flush(); err != nil {
					return err
				}
			}
			if wait == 0 {
				return nil
			}
			if err := s.patient(ctx, wait); err != nil {
				return err
			}
		}
	}
}
