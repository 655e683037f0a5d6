package githttp

import (
	"sync"
	"time"
)

// How long an address waits after a pack that was refused as too much work for git, or after a fetch that was.
const (
	penaltyFirst     = time.Minute // then twice as long each time
	penaltyMost      = 16 * time.Minute
	penaltyForgotten = time.Hour // after the end of the wait
	mostPenalties    = 4096      // addresses; beyond them the one whose wait ends first is forgotten
)

// penalties has the waits of addresses whose requests were too much work for git. Without these a client with many such requests would keep
// others waiting all the time. In the zero value nobody waits.
type penalties struct {
	mu sync.Mutex
	by map[string]penalty
}

type penalty struct {
	until time.Time
	last  time.Duration // length of the last wait
}

// wait returns how long an address has to wait until the server takes its next request of the kind.
func (s *penalties) wait(now time.Time, address string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, s.by[address].until.Sub(now))
}

// add makes an address wait, and returns for how long. Those that were on their way together count as one.
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

// forget makes room for one more address. The caller holds mu.
func (s *penalties) forget() {
	first := ""
	for address, p := range s.by {
		if q, ok := s.by[first]; !ok || p.until.Before(q.until) || p.until.Equal(q.until) && address < first {
			first = address
		}
	}
	delete(s.by, first)
}
