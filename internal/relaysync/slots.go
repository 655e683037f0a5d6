package relaysync

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/publicnet"
	"github.com/graspd/graspd/internal/slots"
)

// place starts peers for relays that have none: bootstrap relays always, the
// others as far as there are slots. With room it also takes slots from relays
// that make less use of them than others would.
func (e *Engine) place(ctx context.Context, room bool) {
	waiting, mailboxes := 0, 0
	for u, w := range e.wants {
		switch {
		case e.peers[u] != nil || !w.Needed():
		case w.Bootstrap:
			e.start(ctx, u)
		case w.OnlyMailbox():
			mailboxes++
		default:
			waiting++
		}
	}
	full := e.slots()+waiting > e.cfg.MaxRelays
	if full && !e.crowded {
		e.cfg.Logger.Warn("more relays are wanted than are connected at once", slog.Int("most", e.cfg.MaxRelays), slog.Int("waiting", waiting))
	}
	if e.crowded = full; waiting+mailboxes == 0 {
		return
	}
	claims := e.claims()
	if hosts := slots.Hosts(claims); room && (full || mailboxes > 0 || slices.ContainsFunc(claims, func(c slots.Claim) bool { return !c.Held && hosts.Full(c) })) {
		e.askUses(ctx, claims)
	}
	for _, m := range slots.Assign(claims, e.cfg.MaxRelays) {
		if m.Take != "" {
			i := slices.IndexFunc(claims, func(c slots.Claim) bool { return c.URL == m.Take })
			e.end(m.Take)
			e.ledger.put(m.Take, e.ledger.past(m.Take).Yielded(claims[i].Use))
			e.cfg.Logger.Debug("relay gives its slot to another", slog.String("relay", string(m.Take)), slog.String("to", string(m.Give)))
		}
		e.start(ctx, m.Give)
	}
}

// slots counts the peers that take one; bootstrap relays are besides, and those that are only mailboxes give theirs up to any other.
func (e *Engine) slots() int {
	n := 0
	for u := range e.peers {
		if w := e.wants[u]; !w.Bootstrap && !w.OnlyMailbox() {
			n++
		}
	}
	return n
}

// claims lists who has a slot and who waits for one. Every slot counts as in firm use until its relay is asked.
func (e *Engine) claims() []slots.Claim {
	now := e.cfg.Now().Wall
	var claims []slots.Claim
	for u, w := range e.wants {
		if w.Bootstrap {
			continue
		}
		c := slots.Claim{URL: u, Host: crowdable(u), Owners: w.Owners, Account: w.Account()}
		if w.OnlyMailbox() {
			if c, ok := e.visit(c, w, e.ledger.past(u)); ok {
				claims = append(claims, c)
			}
			continue
		}
		switch {
		case e.peers[u] != nil:
			c.Held, c.Use = true, slots.Firm
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

// askUses asks every relay that has a slot what it makes of it.
func (e *Engine) askUses(ctx context.Context, claims []slots.Claim) {
	for i, c := range claims {
		if c.Held {
			claims[i].Use = e.peers[c.URL].use(ctx)
		}
	}
}

// crowdable is the host of a relay; "" for an address of this machine or of a private network, which is not dialed unless
// the operator allows it, and then is his own.
func crowdable(u grasp.RelayURL) string {
	host := u.Host()
	if a, err := netip.ParseAddr(host); host == "localhost" || err == nil && !publicnet.Public(a) {
		return ""
	}
	return host
}

// use tells what the relay makes of its slot; one that cannot be asked keeps it.
func (p *peer) use(ctx context.Context) slots.Use {
	s, ok := p.standing(ctx)
	if !ok {
		return slots.Firm
	}
	return plan.Use(s.status)
}
