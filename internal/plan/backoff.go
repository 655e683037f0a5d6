package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"graspd/internal/nostr"
)

// failures counts failed attempts since the last progress.
type failures struct {
	n       int
	first   Now
	flooded bool // one of them was a flood of bad frames: only time without another one is progress
}

// progress forgets the failures of a relay that has done what was asked.
func (f *failures) progress() {
	if !f.flooded {
		*f = failures{}
	}
}

// count adds a failure and returns how long to wait before the next attempt.
func (f *failures) count(c Config, now Now) time.Duration {
	if f.n == 0 {
		f.first = now
	}
	f.n++
	if f.dead(c, now) {
		return c.DeadRetry
	}
	return backoff(c, f.n)
}

// dead says whether the relay has failed without a break for too long.
func (f *failures) dead(c Config, now Now) bool {
	return f.n > 0 && now.since(f.first) >= c.DeadAfter
}

// backoff doubles from the base to the maximum with the attempts (from 1) and
// adds up to a quarter from a hash, so that relays are not all tried at once
// and a run can be repeated.
func backoff(c Config, attempt int) time.Duration {
	d := c.BaseBackoff
	for i := 1; i < attempt && d < c.MaxBackoff; i++ {
		d *= 2
	}
	d = min(d, c.MaxBackoff)
	return d + time.Duration(float64(d)/4*jitter(c.Self, c.URL, uint64(attempt)))
}

// longestWait is the most that backoff returns.
func longestWait(c Config) time.Duration { return c.MaxBackoff + c.MaxBackoff/4 }

// jitter maps its arguments to [0, 1).
func jitter(self nostr.PubKey, u URL, n uint64) float64 {
	h := sha256.New()
	h.Write(self[:])
	h.Write([]byte(u))
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	h.Write(b[:])
	return float64(binary.BigEndian.Uint64(h.Sum(nil))>>11) / (1 << 53)
}

// scheduleResync sets the next full resync: the interval ± 1/24 from a hash.
func (p *Peer) scheduleResync() {
	iv := p.cfg.Resync
	spread := float64(iv) / 24
	at := time.Duration(float64(iv) - spread + 2*spread*jitter(p.cfg.Self, p.cfg.URL, uint64(p.now.Mono/iv)))
	p.resyncAt = p.now.Mono + at
	if p.referencesAt == 0 {
		p.referencesAt = p.resyncAt
	}
}
