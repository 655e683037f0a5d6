package plan

import (
	"time"

	"github.com/graspd/graspd/internal/health"
)

// terms are those on which the relay is tried again.
func (c Config) terms() health.Terms {
	return health.Terms{
		Self: c.Self, URL: string(c.URL), BaseBackoff: c.BaseBackoff, MaxBackoff: c.MaxBackoff, DeadAfter: c.DeadAfter, DeadRetry: c.DeadRetry,
	}
}

// scheduleResync sets the next full resync: the interval ± 1/24 from a hash.
func (p *Peer) scheduleResync() {
	iv := p.cfg.Resync
	spread := float64(iv) / 24
	at := time.Duration(float64(iv) - spread + 2*spread*p.cfg.terms().Jitter(uint64(p.now.Mono/iv)))
	p.resyncAt = p.now.Mono + at
	p.references.inquiry.Plan(p.resyncAt)
}
