package gitproc

import (
	"errors"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/histogram"
)

// Stats has the figures of one kind of work since the start.
type Stats struct {
	Running, Queued int              // at the moment
	Refused         uint64           // work that got no place to wait, or lost it to other work
	Ended           uint64           // processes, all
	Failed          uint64           // processes that ended in failure: by themselves, by a limit, or killed by something else
	ByLimit         uint64           // failures by a limit
	CPU             time.Duration    // processor time of all
	MaxMemory       int64            // bytes: the most that one process had
	Waited          histogram.Counts // how long work that got a slot had waited for it
}

// Stats returns the figures of a kind.
func (g *Git) Stats(k Kind) Stats {
	p := &g.kinds[k]
	st := p.ended()
	p.slots.mu.Lock()
	defer p.slots.mu.Unlock()
	st.Queued, st.Refused = p.slots.queued, p.slots.refused
	for _, n := range p.slots.running {
		st.Running += n
	}
	return st
}

// pool has the slots and the figures of one kind of work.
type pool struct {
	slots *slots

	mu    sync.Mutex // guards stats
	stats Stats
}

func (p *pool) ended() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// forget sets the figures to zero after the trials of the program, of which one must fail: nobody has asked for that work.
func (p *pool) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats = Stats{}
}

// waited notes how long work has waited for its slot.
func (p *pool) waited(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Waited.Add(d)
}

// count notes a process that has ended.
func (p *pool) count(u usage, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Ended++
	p.stats.CPU += u.cpu
	p.stats.MaxMemory = max(p.stats.MaxMemory, u.memory)
	var e *Error
	if errors.As(err, &e) {
		p.stats.Failed++
		if e.Ending.ByLimit() {
			p.stats.ByLimit++
		}
	}
}
