package relay

import (
	"context"
	"errors"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
)

const (
	turnTime    = 2 * time.Millisecond // how long one has a turn while others may wait
	stepsFree   = 300                  // of work for one request (see front.StepsPerRequest) without a turn
	mostTurns   = 256                  // sessions that wait in line for a turn, and
	mostTurnsOf = 16                   // of one party; others try again and again
)

// turn is the turn of one goroutine of a session among all work for clients that takes long. There are turns for half of the processors, so
// whatever takes little waits for no such work. Who has a turn does not wait for anything else: they give the turn back before.
type turn struct {
	turns *fair.Account
	pay   payer
	grant *fair.Grant // nil without a turn
	since time.Time   // when the grant came
	steps int         // of the request in hand, while it needs no turn
}

func newTurn(turns *fair.Account, pay payer) *turn { return &turn{turns: turns, pay: pay} }

// begin begins another request, which may do a little without a turn.
func (t *turn) begin() { t.steps = 0 }

// need waits for a turn unless the request has one, or has done little so far. A turn that has lasted for turnTime is over.
func (t *turn) need(ctx context.Context, steps int) error {
	if t.grant != nil {
		if time.Since(t.since) < turnTime {
			return nil
		}
		t.giveBack()
	} else if t.steps += steps; t.steps <= stepsFree {
		return nil
	}
	if t.turns.Left() == 0 { // it may take a while
		if err := gone(t.pay.cork.release()); err != nil {
			return err
		}
	}
	return t.take(ctx)
}

// take waits for a turn. It fails with the cause of ctx, and where the client has left.
func (t *turn) take(ctx context.Context) error {
	party := t.pay.visitor.Party()
	for {
		g, err := t.turns.Wait(ctx, party, 1)
		if err == nil {
			t.grant, t.since = g, time.Now()
			return nil
		}
		if _, full := errors.AsType[fair.Refusal](err); !full {
			return err
		}
		if err := t.pay.patient(ctx, retryRoom); err != nil {
			return err
		}
	}
}

// giveBack gives the turn back, if there is one.
func (t *turn) giveBack() {
	if t.grant == nil {
		return
	}
	t.turns.Charge(t.pay.visitor.Party(), time.Since(t.since))
	t.grant.GiveBack()
	t.grant = nil
}
