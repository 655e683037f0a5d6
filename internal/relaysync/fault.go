package relaysync

import (
	"context"

	"github.com/graspd/graspd/internal/plan"
)

// contained runs what serves this relay alone and returns its error. A fault in it, which is noted, is an error as well.
func (p *peer) contained(work func() error) error {
	return p.engine.cfg.Faults.Run(string(p.url), work)
}

// renew begins anew after a fault in the shell: the connection ends, and a machine that knows of the relay what is kept over
// restarts takes the place of the one that was at fault. To it the fault is a failed attempt to connect, so that the
// relay is tried again as others are that fail. A fault in renew itself ends the peer until the next start.
func (p *peer) renew(ctx context.Context, cause error) {
	p.hangUp()
	p.machine = p.engine.machine(p.url, p.remembered())
	if p.wanted == nil {
		return
	}
	p.machine.Step(p.engine.cfg.Now(), plan.Wanted{Want: p.wanted}) // it would dial
	p.step(ctx, plan.DialFailed{Reason: cause.Error()})
}

// remembered is what is to be kept of the relay, as far as its machine can still tell.
func (p *peer) remembered() (past plan.Record) {
	_ = p.contained(func() error { past = p.machine.Record(); return nil })
	return past
}
