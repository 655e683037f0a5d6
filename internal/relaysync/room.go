package relaysync

import (
	"context"
	"log/slog"
	"slices"

	"graspd/internal/plan"
)

// place starts peers for relays that have none: bootstrap relays always, the
// others as far as there are slots. With room it also takes slots from relays
// that make less use of them than others would.
func (e *Engine) place(ctx context.Context, room bool) {
	waiting := 0
	for u, w := range e.wants {
		switch {
		case e.peers[u] != nil || w.Empty() && !w.Bootstrap:
		case w.Bootstrap:
			e.start(ctx, u)
		default:
			waiting++
		}
	}
	full := e.slots()+waiting > e.cfg.MaxRelays
	if full && !e.crowded {
		e.cfg.Logger.Warn("more relays are wanted than are connected at once", slog.Int("most", e.cfg.MaxRelays), slog.Int("waiting", waiting))
	}
	if e.crowded = full; waiting == 0 {
		return
	}
	claims := e.claims(ctx, room && full)
	for _, m := range plan.Slots(claims, e.cfg.MaxRelays) {
		if m.Take != "" {
			i := slices.IndexFunc(claims, func(c plan.Claim) bool { return c.URL == m.Take })
			e.end(m.Take)
			e.ledger.put(m.Take, e.ledger.past(m.Take).Yielded(claims[i].Use))
			e.cfg.Logger.Debug("relay gives its slot to another", slog.String("relay", string(m.Take)), slog.String("to", string(m.Give)))
		}
		e.start(ctx, m.Give)
	}
}

// slots counts the peers that take one; bootstrap relays are besides.
func (e *Engine) slots() int {
	n := 0
	for u := range e.peers {
		if !e.wants[u].Bootstrap {
			n++
		}
	}
	return n
}

// claims lists who has a slot and who waits for one. Without asking, every slot counts as in firm use.
func (e *Engine) claims(ctx context.Context, ask bool) []plan.Claim {
	now := e.cfg.Now().Wall
	var claims []plan.Claim
	for u, w := range e.wants {
		if w.Bootstrap {
			continue
		}
		c := plan.Claim{URL: u, Owners: w.Owners, Account: w.Account()}
		switch p := e.peers[u]; {
		case p != nil:
			c.Held, c.Use = true, plan.Firm
			if ask {
				c.Use = p.use(ctx)
			}
		case w.Empty():
			continue
		default:
			past := e.ledger.past(u)
			c.Last, c.Use = past.At, past.Use(e.cfg.Peer, now)
		}
		claims = append(claims, c)
	}
	return claims
}

// use tells what the relay makes of its slot; one that cannot be asked keeps it.
func (p *peer) use(ctx context.Context) plan.Use {
	s, ok := p.standing(ctx)
	if !ok {
		return plan.Firm
	}
	return s.status.Use()
}
