package peer

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
)

// untilVerdict is the time of what waits for a verdict on AUTH, which comes at no known time: authEnded sets another one then.
const untilVerdict = backoff.Never

// Wake returns the next time, as Now.Mono counts, at which Step wants a Tick;
// false when nothing waits for time. After a Step it is later than that Step.
func (p *Peer) Wake() (time.Duration, bool) { return p.wakeAt, p.wakeAt < backoff.Never }

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
	return min(w, p.demands.wake(), p.conn.planner.Wake(p.now.Mono), p.conn.catchup.wake(), p.references.inquiry.Wake(p.now.Mono), p.suspects.wake(), p.unfiltered.wake())
}
