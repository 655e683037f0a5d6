package peer

import (
	"github.com/graspd/graspd/internal/sync/peer/history"
)

// Record returns what is to be kept of the relay, as of the last Step.
func (p *Peer) Record() history.Record {
	p.dialing.NoteOwners(p.now, p.want)
	r := p.dialing.Record(p.now, p.conn != nil)
	r.HangsUp, r.LastAlive, r.Uptime, r.Alike = p.comparing.hangsUp, p.lastAlive, p.uptime, p.unfiltered.similarity.alike
	if at := p.references.inquiry.At(); at != 0 {
		r.References = p.now.Wall.Add(at - p.now.Mono)
	}
	return r
}

// recall takes what was kept, at the first Step.
func (p *Peer) recall(r history.Record) {
	p.lastAlive, p.uptime, p.unfiltered.similarity = r.LastAlive, r.Uptime, similarity{alike: r.Alike}
	p.askedBefore = !r.LastAlive.IsZero()
	if r.HangsUp {
		p.comparing.support, p.comparing.hangsUp = negRefused, true
	}
	p.dialing.Recall(p.now, r)
	if !r.References.IsZero() {
		// A clock that was set does not put it off for longer than a full resync would be.
		wait := min(max(0, r.References.Sub(p.now.Wall)), p.cfg.Resync+p.cfg.Resync/24)
		p.references.inquiry.Plan(p.now.Mono + wait)
	}
}
