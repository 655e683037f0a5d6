package peer

import "time"

// scheduleResync sets the next full resync: the interval ± 1/24 from a hash.
func (p *Peer) scheduleResync() {
	iv := p.cfg.Resync
	spread := float64(iv) / 24
	at := time.Duration(float64(iv) - spread + 2*spread*p.cfg.Backoff().Jitter(uint64(p.now.Mono/iv)))
	p.resyncAt = p.now.Mono + at
	p.references.inquiry.Plan(p.resyncAt)
}
