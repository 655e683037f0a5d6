package relaysync

import (
	"context"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
)

// noteFirst asks peer.FirstCatchup whether the first catch-up with a bootstrap relay is through.
func (p *shell) noteFirst() {
	if p.first.Through() || !p.bootstrap {
		return
	}
	known := p.engine.delivered.Load() // before the look at newest, as the engine fills newest before it stores delivered
	caughtUp := len(p.newest) == 0 && p.machine.CaughtUp()
	p.first.Look(caughtUp, p.machine.Counted().Catchup, uint64(p.engine.cfg.Store.Head()), known)
	if p.first.Through() {
		p.logger.Info("initial sync finished")
	}
}

// Ready reports whether the first catch-up with every bootstrap relay is through. If not, it returns the relays for which the engine still
// waits. The engine does not wait for a dead relay. Once Ready has returned true, it returns true until the process ends.
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
