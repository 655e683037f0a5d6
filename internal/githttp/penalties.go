package githttp

import (
	"sync"
	"time"
)

// How long an address waits whose pack was refused as it is too much work for git.
const (
	penaltyFirst     = time.Minute // and twice as long each time
	penaltyMost      = 16 * time.Minute
	penaltyForgotten = time.Hour // after its end
	mostPenalties    = 4096      // addresses; beyond them the one whose wait ends first is forgotten
)

// penalties are the waits of addresses whose packs were refused as too much work for git: else a client with many such packs would keep
// others waiting all the time. With the zero value nobody waits.
type penalties struct {
	mu sync.Mutex
	by map[string]penalty
}

type penalty struct {
	until time.Time
	last  time.Duration // length of the last wait
}

// wait is how long it takes until the next pack of an address is taken; 0 is now.
func (s *penalties) wait(now time.Time, address string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, s.by[address].until.Sub(now))
}

// add has an address wait, and returns for how long. Packs that were on their way together count as one.
func (s *penalties) add(now time.Time, address string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.by[address]
	if left := p.until.Sub(now); left > 0 {
		return left
	}
	if now.Sub(p.until) > penaltyForgotten {
		p.last = 0
	}
	p.last = min(max(penaltyFirst, 2*p.last), penaltyMost)
	p.until = now.Add(p.last)
	if s.by == nil {
		s.by = map[string]penalty{}
	}
	s.by[address] = p
	if len(s.by) > mostPenalties {
		s.forget()
	}
	return p.last
}

// forget makes room for one address. It is called with mu held.
func (s *penalties) forget() {
	first := ""
	for address, p := range s.by {
		if q, ok := s.by[first]; !ok || p.until.Before(q.until) || p.until.Equal(q.until) && address < first {
			first = address
		}
	}
	delete(s.by, first)
}
