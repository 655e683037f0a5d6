package peer

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/want"
)

// Requests to vanish (NIP-62) are few, and nothing else that graspd asks for leads to those of authors who wrote no repository. The live REQ of
// the announcements follows them. For those of the time away graspd asks from shortly before the relay was last heard; layer 4 asks for older
// ones, by author. Where the relay refuses any of this, nothing waits for it.

// withVanish returns live filters of layer 1 that ask for requests to vanish too.
func (d *requestModes) withVanish(l *livesubs.REQ, filters []nostr.Filter) []nostr.Filter {
	if d.kinds.NoVanish() {
		return filters
	}
	l.Vanish = true
	filters[0].Kinds = append(slices.Clip(filters[0].Kinds), nostr.KindVanish)
	return filters
}

// withoutVanish handles the refusal of a live REQ, where requests to vanish may be the reason: the relay
// names their kind, or nothing better is known. It reports whether the REQ is to be sent again at once, without them.
func (d *requestModes) withoutVanish(l *livesubs.REQ, text string, named bool) bool {
	return l.Vanish && d.kinds.VanishRefused(text, named)
}

// missedVanish returns the task that asks for the requests to vanish of the time away; nil where graspd need not ask.
func (d *requestModes) missedVanish(g *group) *task {
	from := g.Since
	if !from.Bounded() && !d.away.IsZero() {
		from = itemset.SinceTime(d.away)
	}
	if g.Layer != want.LayerAnnouncements || g.class == Daily || !from.Bounded() || d.kinds.NoVanish() {
		return nil
	}
	since := int64(from)
	return &task{group: g, extra: true, filter: nostr.Filter{Kinds: []nostr.Kind{nostr.KindVanish}, Since: &since}}
}
