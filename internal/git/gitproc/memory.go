package gitproc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
)

// memory is the memory that all processes together may take. Each asks for as much as it may need, before it starts, and gets a limit of that:
// so the sum of all is bounded, whatever is in the repositories. A process that needs more ends with OutOfMemory.
type memory struct {
	*fair.Account
	least, most int64 // bytes that one asks for
	upkeep      int64 // bytes for maintenance: nobody can have it give way, and it may take minutes
}

// What a process needs beside what grows with the repository: buffers, caches and a few objects; see settings.
const (
	leastMemory = 64 << 20
	usualMemory = 256 << 20
	memoryWait  = 2 * time.Minute
	admitWait   = memoryWait // for a slot and for memory, together

	upkeepPart = 4        // maintenance gets one part in so many
	handsOn    = 32 << 20 // for a process that has another one do the work, with some 100,000 refs

	littleMemory = 64 << 20 // beside what each of two processes needs at least: the part for those who take little is for such a fetch
)

// newMemory makes an account of so many bytes, of which one process gets no more than half, and no more than most.
func newMemory(total, most int64) *memory {
	m := &memory{most: min(most, total/2)}
	m.least = min(m.most, max(leastMemory, min(usualMemory, total/8)))
	m.upkeep = min(m.most, max(total/upkeepPart, leastMemory+handsOn))
	m.Account = fair.New(fair.Config{Name: "bytes of memory for git", Total: total, Little: 2*m.least + littleMemory, Places: 128, Most: memoryWait, Patience: patience, Newest: true})
	return m
}

// share is the memory that a run may take.
type share struct {
	*fair.Grant
	of    fair.Party
	each  int64 // bytes that each process of the run may take
	began time.Time
	from  *memory
}

// take waits for the memory of a run, or fails at once where the run does not wait. It fails with ErrBusy, or with the cause of ctx. The caller calls
// release when the processes have ended.
func (m *memory) take(ctx context.Context, c Command, r Run) (share, error) {
	s, err := m.try(c, r)
	if err == nil || r.AtOnce {
		return s, err
	}
	_, all := m.needs(c, r)
	s.Grant, err = m.Wait(ctx, s.of, all)
	s.began = time.Now()
	var why fair.Refusal
	if errors.As(err, &why) {
		err = fmt.Errorf("%w: memory: %w", ErrBusy, why)
	}
	return s, err
}

// try takes the memory of a run where it is free. It fails with ErrBusy.
func (m *memory) try(c Command, r Run) (share, error) {
	each, all := m.needs(c, r)
	s := share{of: fair.Party{Network: r.Party}, each: each, began: time.Now(), from: m}
	var why fair.Refusal
	if s.Grant, why, _ = m.Try(s.of, all); why != fair.Granted {
		return s, fmt.Errorf("%w: memory: %w", ErrBusy, why)
	}
	return s, nil
}

// release gives the memory back. Who had it for long goes last among those who wait.
func (s share) release() {
	s.from.Charge(s.of, time.Since(s.began))
	s.GiveBack()
}

// needs returns how much each process of a run may take, and all of them together. A walk holds a few bytes of each object that it meets,
// about as much as the objects take in packs. A process that has another one do the work has the same limit as that one, which inherits it, and both
// may walk: so it counts twice, unless it hands all work on.
func (m *memory) needs(c Command, r Run) (each, all int64) {
	each = min(m.most, m.least+2*min(r.Reads, m.most))
	if r.Greedy {
		each = m.most
	}
	if r.Kind == Maintenance {
		each = m.upkeep
	}
	switch {
	case c.starts:
		each = min(each, m.most/2)
		return each, 2 * each
	case c.hands:
		return each - handsOn, each
	}
	return each, each
}
