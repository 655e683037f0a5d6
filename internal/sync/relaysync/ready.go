package relaysync

import (
	"context"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/peer"
)

// noteFirst asks peer.FirstCatchup whether the catch-up with a bootstrap relay that is under way is through.
func (p *shell) noteFirst() {
	if p.first.Through() || !p.bootstrap {
		return
	}
	known := p.engine.delivered.Load() // before the look at newest, as the engine fills newest before it stores delivered
	caughtUp := len(p.newest) == 0 && p.machine.CaughtUp()
	p.first.Look(caughtUp, p.machine.Counted().Catchup, uint64(p.engine.cfg.Store.Head()), known)
	if p.first.Through() && p.round == 0 {
		p.logger.Info("bootstrap relay has answered everything")
	}
}

// begin begins a further catch-up, unless that is under way: it is through when the relay has answered all that what is stored now makes
// wanted of it.
func (p *shell) begin(round uint64) {
	if round > p.round {
		p.round, p.first = round, peer.FirstCatchup{}
	}
}

// CaughtUp returns the bootstrap relays with which a catch-up is not through. Round 0 is the first catch-up; a round begins when it is first
// asked about, and goes through what was stored until then. The engine does not wait for a dead relay. Once CaughtUp has returned none for a
// round, it returns none until the process ends.
func (e *Engine) CaughtUp(ctx context.Context, round uint64) (waiting []grasp.RelayURL) {
	if e.rounds.Load() > round {
		return nil
	}
	through := make(map[grasp.RelayURL]bool)
	for _, p := range e.ask(ctx) {
		if !p.bootstrap {
			continue
		}
		ok := p.call(ctx, func(context.Context) {
			p.begin(round)
			s := p.machine.Status()
			through[p.url] = p.first.Through() || s.Ourself || s.Health == status.Dead
		})
		through[p.url] = through[p.url] && ok
	}
	for _, u := range e.cfg.Bootstrap {
		if !through[u] && !e.cfg.Service.Is(u) {
			waiting = append(waiting, u)
		}
	}
	if len(waiting) == 0 {
		e.rounds.Store(round + 1)
	}
	return waiting
}
