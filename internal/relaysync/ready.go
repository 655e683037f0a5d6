package relaysync

import (
	"context"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/store"
)

// first watches the first catch-up of a bootstrap relay. It belongs to the shell.
type first struct {
	through bool
	seen    bool      // it has caught up with what was wanted once
	head    store.Seq // the head of the store then
	brought uint64    // how many events the relay had brought by catch-up then
}

// noteFirst looks whether the first catch-up is through: the peer has caught up,
// with a Want that knows whatever the relay brought. Events of others do not put
// it off.
func (p *peer) noteFirst() {
	if p.first.through || !p.bootstrap {
		return
	}
	delivered := store.Seq(p.engine.delivered.Load()) // before the mailbox, which is filled first
	if len(p.mailbox) > 0 || !p.machine.CaughtUp() {
		return
	}
	brought := p.machine.Counted().Catchup
	if !p.first.seen || p.first.brought != brought {
		p.first = first{seen: true, head: p.engine.cfg.Store.Head(), brought: brought}
	}
	p.first.through = delivered >= p.first.head
	if p.first.through {
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
