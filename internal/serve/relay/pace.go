package relay

import (
	"context"
	"errors"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
)

// stepsPerValue is how many steps of work it costs to read a value of a filter, sort it, and put it into the index of live filters.
const stepsPerValue = 5

// goneCheck is the longest time until a session notices that a client who waits has left.
const goneCheck = time.Second

// maxDelay is the longest time that a found event waits for others, to be sent together with them.
const maxDelay = 20 * time.Millisecond

var errCostly = errors.New("too much work")

// payer makes the client's address pay for what a session does: it charges the work, and the session waits while the address is in debt.
type payer struct {
	visitor *front.Visitor
	cork    *cork // knows whether the client who waits has left
}

// pace waits until the client's address may make another request; it refuses nothing. All frames are requests, but for events that go to
// the door, which have their own rate.
func (p payer) pace(work context.Context) error {
	return p.await(work, p.visitor.Admit)
}

// repay waits until the client's address has paid for the work of deciding its events.
func (p payer) repay(work context.Context) error {
	return p.await(work, p.visitor.DecisionDebt)
}

// paceBytes waits until the client's address may send more bytes, of messages or anything else on its connections. When the session ends,
// paceBytes returns at once: the session has to read the client's part of the closing.
func (p payer) paceBytes(work context.Context) {
	_ = p.await(work, p.visitor.MayReceive)
}

// await waits as long as wait says, again and again until wait says 0. It fails when the client leaves or the session ends.
func (p payer) await(work context.Context, wait func() time.Duration) error {
	for {
		d := wait()
		if d == 0 {
			return nil
		}
		if err := p.patient(work, d); err != nil {
			return err
		}
	}
}

// patient waits for d, but at most goneCheck. It fails when the client is gone, even if there are bytes to be read, or the session ends.
func (p payer) patient(work context.Context, d time.Duration) error {
	if p.cork.hungUp() {
		return errGone
	}
	return sleep.For(work, min(d, goneCheck))
}

// billed returns a meter that charges the client's address for the work of one request, and fails with errCostly beyond most steps.
func (p payer) billed(most int) store.Meter {
	return func(steps int) error {
		p.visitor.Charge(steps)
		if most -= steps; most < 0 {
			return errCostly
		}
		return nil
	}
}

// slowed returns a meter like that of billed, which also waits while the address is in debt, and for turns. Use it for work of the writer that
// holds up nobody else. The meter flushes the writer's frames before it waits, and when frames have waited for maxDelay.
func (p payer) slowed(ctx context.Context, most int, t *turn) store.Meter {
	bill := p.billed(most)
	return func(steps int) error {
		if err := bill(steps); err != nil {
			return err
		}
		for {
			wait := p.visitor.Debt()
			if _, held := p.cork.waiting(); wait > 0 || held > maxDelay {
				t.giveBack()
				if err := gone(p.cork.release()); err != nil {
					return err
				}
			}
			if wait == 0 {
				return t.need(ctx, steps)
			}
			if err := p.patient(ctx, wait); err != nil {
				return err
			}
		}
	}
}

// chargeValues charges the work that filters make before the relay looks anything up.
func (p payer) chargeValues(filters ...nostr.Filter) {
	n := 0
	for i := range filters {
		n += countValues(&filters[i])
	}
	p.visitor.Charge(n * stepsPerValue)
}
