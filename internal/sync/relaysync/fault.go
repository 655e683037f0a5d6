package relaysync

import (
	"context"

	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/history"
)

// contained runs work that serves this relay alone, and returns its error. It notes a fault in work, and returns the fault as an error.
func (p *shell) contained(work func() error) error {
	return p.engine.cfg.Faults.Run(string(p.url), work)
}

// renew begins anew after a fault in the shell. The connection ends, and a new machine replaces the one at fault. The new machine has the
// record of the relay. It hears of the fault as a failed attempt to connect, so that graspd tries the relay again as any relay that fails.
// A fault in renew itself ends the peer until the next start.
func (p *shell) renew(ctx context.Context, cause error) {
	p.hangUp()
	p.machine = p.engine.machine(p.url, p.remembered())
	if p.wanted == nil {
		return
	}
	p.machine.Step(p.engine.cfg.Now(), peer.Wanted{Want: p.wanted}) // drop its effect, a dial
	p.step(ctx, peer.DialFailed{Reason: cause.Error()})
}

// remembered returns the record of the relay; an empty one where a fault keeps the machine from telling it.
func (p *shell) remembered() (past history.Record) {
	_ = p.contained(func() error { past = p.machine.Record(); return nil })
	return past
}
