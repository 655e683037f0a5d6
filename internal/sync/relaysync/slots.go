package relaysync

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/sync/peer/history"
	"github.com/graspd/graspd/internal/sync/slots"
)

// assignSlots starts peers for relays that have none: always for bootstrap relays, and for others as far as slots.Assign gives them a slot.
// With ask, it asks the peers that have slots for their use, and takes slots also from relays with little use for them.
func (e *Engine) assignSlots(ctx context.Context, ask bool) {
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
	full := e.slotsTaken()+waiting > e.cfg.MaxRelays
	if full && !e.crowded {
		e.cfg.Logger.Warn("graspd is to follow more relays than it connects to at once (--sync-max-relays)", slog.Int("most", e.cfg.MaxRelays), slog.Int("waiting", waiting))
	}
	if e.crowded = full; waiting+mailboxes == 0 {
		return
	}
	all := e.candidates()
	if hosts := slots.Hosts(all); ask && (full || mailboxes > 0 || slices.ContainsFunc(all, func(c slots.Candidate) bool { return !c.HasSlot && hosts.Full(c) })) {
		e.askUses(ctx, all)
	}
	for _, m := range slots.Assign(all, e.cfg.MaxRelays) {
		if m.Take != "" {
			i := slices.IndexFunc(all, func(c slots.Candidate) bool { return c.URL == m.Take })
			e.end(m.Take)
			e.records.put(m.Take, e.records.past(m.Take).Yielded(all[i].Use))
			e.cfg.Logger.Debug("graspd leaves one relay to make room for another", slog.String("relay", string(m.Take)), slog.String("to", string(m.Give)))
		}
		e.start(ctx, m.Give)
	}
}

// slotsTaken counts the peers that take a slot. Bootstrap relays take none. Relays that are only mailboxes do not count either, as they give
// their slot up to any other relay.
func (e *Engine) slotsTaken() int {
	n := 0
	for u := range e.peers {
		if w := e.wants[u]; !w.Bootstrap && !w.OnlyMailbox() {
			n++
		}
	}
	return n
}

// candidates lists the relays that have a slot or wait for one. Every slot counts as in firm use until askUses.
func (e *Engine) candidates() []slots.Candidate {
	now := e.cfg.Now().Wall
	var all []slots.Candidate
	for u, w := range e.wants {
		if w.Bootstrap {
			continue
		}
		c := slots.Candidate{URL: u, Host: crowdable(u), Owners: w.Owners, Party: w.Party()}
		if w.OnlyMailbox() {
			if c, ok := e.mailboxCandidate(c, w, e.records.past(u)); ok {
				all = append(all, c)
			}
			continue
		}
		switch {
		case e.peers[u] != nil:
			c.HasSlot, c.Use = true, slots.Firm
		case w.Empty():
			continue
		default:
			past := e.records.past(u)
			c.Last, c.Use = past.At, past.Use(e.cfg.Peer.Backoff(), now)
		}
		all = append(all, c)
	}
	return all
}

// askUses asks the peer of every relay that has a slot for its use of the slot.
func (e *Engine) askUses(ctx context.Context, all []slots.Candidate) {
	for i, c := range all {
		if c.HasSlot {
			all[i].Use = e.peers[c.URL].use(ctx)
		}
	}
}

// crowdable returns the host of a relay, for the bound of slots per host. It returns "", for no bound, where the host is this machine or in
// a private network: graspd dials such a relay only if the operator allows that, and then it is the operator's own.
func crowdable(u grasp.RelayURL) string {
	host := u.Host()
	if a, err := netip.ParseAddr(host); host == "localhost" || err == nil && !publicnet.Public(a) {
		return ""
	}
	return host
}

// use returns the peer's use of its slot. A peer that does not answer counts as in firm use, so that its relay keeps the slot.
func (p *shell) use(ctx context.Context) slots.Use {
	s, ok := p.standing(ctx)
	if !ok {
		return slots.Firm
	}
	return history.UseOf(s.status)
}
