package peer

import (
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/gaps"
)

// gapLevel is the weight of a gap. One that a full resync found is grave, as no catch-up before found it.
func gapLevel(grave bool) Level {
	if grave {
		return LevelError
	}
	return LevelWarn
}

// noteGap counts and reports a gap if e, which request r brought first, is one.
func (p *Peer) noteGap(r *request, e *nostr.Event) {
	if r.task == nil || r.task.group.polled || e == nil || !gaps.OldEnough(e, p.now) {
		return
	}
	g := r.task.group
	if g.byItems() && !p.conn.followed.Missed(p.want, p.demands.kinds.Mode(), g.Items, e) || !g.byItems() && !g.unfiltered.missed(e) {
		return
	}
	p.counted.Gaps++
	p.unfiltered.gap()
	grave := g.class == Daily
	if p.gaps.Note(p.now, g.class.String(), grave, e) {
		p.report(gapLevel(grave), "gap: the relay did not send an event while graspd listened",
			"event", e.ID.String(), "kind", e.Kind, "created", time.Unix(e.CreatedAt, 0).UTC(), "found_by", g.class.String())
	}
}
