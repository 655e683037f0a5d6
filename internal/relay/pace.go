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

// stepsPerValue is what a value of a filter costs, to be read, sorted and put into the index of live filters.
const stepsPerValue = 5

// goneCheck is the most that passes until somebody notices that a client who waits has left.
const goneCheck = time.Second

var tooManyPings = &goodbye{code: websocket.StatusPolicyViolation, text: "rate-limited: too many pings from your address"}

// maxDelay is how long an event that was found waits at most for others to be found, so that they are sent together.
const maxDelay = 20 * time.Millisecond

var errCostly = errors.New("too much work")

// pace lets the reader go on when the client's address may have another request; it slows down, and refuses nothing. All
// frames are requests but events that are taken, which have a rate of their own.
func (s *session) pace(work context.Context) error {
	return s.await(work, s.visitor.Admit)
}

// received counts what has come from the client.
func (s *session) received(n int) {
	s.frames.bytes.Add(int64(n))
	s.visitor.Received(n)
}

// repay lets the reader go on when the client's address has paid for what its events have made for work.
func (s *session) repay(work context.Context) error {
	return s.await(work, s.visitor.DecisionDebt)
}

// paceBytes waits until the client's address may send more, be it messages or anything else that its connections carry. A session
// that ends reads on, for the client's part of the closing.
func (s *session) paceBytes(work context.Context) {
	_ = s.await(work, s.visitor.MayReceive)
}

// await waits for as long as wait says, as often as it says so, unless the client leaves.
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

// patient lets some time pass, a second at most. It fails when the client is gone, whatever it has left to be read.
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

// billed is a meter that charges the client's address for the work that a request makes, and ends what goes beyond most.
func (s *session) billed(most int) store.Meter {
	return func(steps int) error {
		s.visitor.Charge(steps)
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
