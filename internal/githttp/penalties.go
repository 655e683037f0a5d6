package githttp

import (
	"sync"
	"time"
)

// How long an address waits whose pack was refused for the work that it is to git.
const (
	penaltyFirst     = time.Minute // and twice as long each time
	penaltyMost      = 16 * time.Minute
	penaltyForgotten = time.Hour // after its end
	mostPenalties    = 4096      // addresses; beyond them those are forgotten whose wait ends first
)

// penalties have addresses wait that pushed packs which were refused for the work that they are to git: whoever has many such packs
// would else have others wait for the next one at once. The zero value is that nobody waits.
type penalties struct {
	mu sync.Mutex
	by map[string]penalty
}

type penalty struct {
	until time.Time
	last  time.Duration // how long it was
}

// wait is how long an address waits before its next pack is taken; 0 is not at all.
func (s *penalties) wait(now time.Time, address string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, s.by[address].until.Sub(now))
}

// add has an address wait, and tells how long. Several packs that were on their way together count as one.
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

// forget makes room for one. It is called with mu held.
func (s *penalties) forget() {
	first := ""
	for address, p := range s.by {
		if q, ok := s.by[first]; !ok || p.until.Before(q.until) || p.until.Equal(q.until) && address < first {
			first = address
		}
	}
	delete(s.by, first)
}
