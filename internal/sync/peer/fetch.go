package peer

import (
	"maps"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/want"
)

// mostNeeded bounds the ids that one comparison needs, over all windows. Where it needs
// more, the rest is paged.
const mostNeeded = 250_000

// fetch requests the next needed ids of a task.
func (c *catchup) fetch(t *task) {
	b := t.neg.Ask(c.atATime())
	f := nostr.Filter{IDs: b.IDs(), Limit: new(len(b.IDs()))}
	if mode := c.demands.mannerOf(t, t.filter).Mode; mode != demands.NoKinds { // the filter's own, where it has some
		f.Kinds = mode.With(t.filter).Kinds
	}
	r := c.request(t, asksIDs, f)
	r.Kindless = t.group.byItems()
	r.batch = b
}

// elsewhere returns the ids that other running tasks request now or next.
func (c *catchup) elsewhere(t *task) map[nostr.ID]struct{} {
	asked := make(map[nostr.ID]struct{})
	if t.group.Layer == want.LayerReferences { // layer 4 makes way for others
		return asked
	}
	for _, o := range c.running {
		if o == t || o.neg == nil {
			continue
		}
		for _, id := range o.neg.Needs() {
			asked[id] = struct{}{}
		}
		if o.req != nil && o.req.batch != nil {
			maps.Copy(asked, o.req.batch.Lacks())
		}
		for _, r := range o.undecided {
			maps.Copy(asked, r.batch.Lacks())
		}
	}
	return asked
}
