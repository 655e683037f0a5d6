package gitproc

import (
	"errors"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/durations"
)

// Stats are figures of one kind of processes since the start.
type Stats struct {
	Running, Queued int              // at the time
	Refused         uint64           // for too many that waited
	Ended           uint64           // in all
	Failed          uint64           // of them, by themselves, by a limit or by something else that killed them
	ByLimit         uint64           // of those
	CPU             time.Duration    // of all
	MaxMemory       int64            // bytes: the most that one process had
	Waited          durations.Counts // for a slot, of those that got one
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

// pool is what there is for processes of one kind.
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

// forget sets the figures back, so that the trials of the program, one of which is to fail, are no work that somebody asked for.
func (p *pool) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats = Stats{}
}

// waited notes how long somebody waited for their slot.
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
