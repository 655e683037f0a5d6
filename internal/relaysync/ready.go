package relaysync

import (
	"context"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/status"
)

// noteFirst looks whether the first catch-up of a bootstrap relay is through.
func (p *peer) noteFirst() {
	if p.first.Through() || !p.bootstrap {
		return
	}
	known := p.engine.delivered.Load() // before the mailbox, which is filled first
	caughtUp := len(p.mailbox) == 0 && p.machine.CaughtUp()
	p.first.Look(caughtUp, p.machine.Counted().Catchup, uint64(p.engine.cfg.Store.Head()), known)
	if p.first.Through() {
		p.logger.Info("first catch-up is through")
	}
}

// Ready reports whether the first catch-up of every bootstrap relay is through;
// once it is, it stays so. Else it names those that it waits for. A relay that is
// dead is not waited for.
func (e *Engine) Ready(ctx context.Context) (bool, []grasp.RelayURL) {
	if e.ready.Load() {
		return true, nil
	}
	through := make(map[grasp.RelayURL]bool)
	for _, p := range e.ask(ctx) {
		if p.bootstrap {
			s, ok := p.standing(ctx)
			through[p.url] = ok && (s.through || s.status.Ourself || s.status.Health == status.Dead)
		}
	}
	var waiting []grasp.RelayURL
	for _, u := range e.cfg.Bootstrap {
		if !through[u] && !e.cfg.Service.Is(u) {
			waiting = append(waiting, u)
		}
	}
	if len(waiting) > 0 {
		return false, waiting
	}
	e.ready.Store(true)
	return true, nil
}
