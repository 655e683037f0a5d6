package plan

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/want"
)

// Requests to vanish (NIP-62) are few, and nothing that is asked for leads to those of authors who wrote no repository. They
// are followed with the announcements. What came while a relay was not connected is asked for from shortly before it was last
// heard; older ones are left to layer 4, which asks by author. Nothing waits for what the relay refuses of this.

// withVanish returns live filters of layer 1 that ask for requests to vanish too.
func (p *Peer) withVanish(l *liveReq, filters []nostr.Filter) []nostr.Filter {
	if p.kinds.noVanish {
		return filters
	}
	l.vanish = true
	filters[0].Kinds = append(slices.Clip(filters[0].Kinds), nostr.KindVanish)
	return filters
}

// missedVanish returns the task that asks for those of the time away; nil where there is none.
func (p *Peer) missedVanish(g *group) *task {
	since := p.conn.away
	if g.since > allAgain {
		since = g.since
	}
	if g.layer != want.LayerAnnouncements || g.class == Daily || since == 0 || p.kinds.noVanish {
		return nil
	}
	return &task{group: g, extra: true, filter: nostr.Filter{Kinds: []nostr.Kind{nostr.KindVanish}, Since: &since}}
}

// awaySince returns from when on requests to vanish may be missing, in Unix seconds, at a connect; 0 = the relay was never heard.
func (p *Peer) awaySince() int64 {
	if p.lastAlive.IsZero() {
		return 0
	}
	return max(1, p.lastAlive.Add(-p.cfg.QuickReconnect).Unix())
}

// withoutVanish handles the refusal of a live REQ that asks for requests to vanish, where they may be the reason: the relay
// names their kind, or nothing better is known. It reports whether the REQ is to be sent again at once, without them.
func (p *Peer) withoutVanish(l *liveReq, text string, named bool) bool {
	if !l.vanish || p.kinds.noVanish || named && !(demandsKinds(text) && strings.Contains(text, "62")) {
		return false
	}
	p.kinds.noVanish = true
	return true
}

// extraFailed ends a task that nobody waits for. It reports whether t is one.
func (p *Peer) extraFailed(t *task) bool {
	if !t.extra {
		return false
	}
	p.abandon(t)
	p.taskDone(t)
	return true
}
