package plan

import (
	"time"

	"github.com/graspd/graspd/internal/health"
)

// What waits for something else than a time waits for ever, until that takes it back.
const (
	untilVerdict = health.Never // on AUTH
	untilResync  = health.Never // the next full one
)

// Wake returns the next time, as Now.Mono counts, at which Step wants a Tick;
// false when nothing waits for time. After a Step it is later than that Step.
func (p *Peer) Wake() (time.Duration, bool) { return p.wakeAt, p.wakeAt < health.Never }

// nextWake works out the next time at which something is due: the first that any part names.
func (p *Peer) nextWake() time.Duration {
	w := p.gaps.Due()
	if p.phase == phaseWaiting {
		return min(w, p.dialAt())
	}
	if p.conn == nil {
		return w
	}
	w = min(w, p.resyncAt)
	if at, ok := p.dialing.Calm(p.conn.opened); ok {
		w = min(w, at)
	}
	return min(w, p.demands.wake(), p.conn.side.Wake(p.now.Mono), p.conn.catchup.wake(), p.references.inquiry.Wake(p.now.Mono), p.suspects.wake(), p.whole.wake())
}
