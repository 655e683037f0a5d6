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
}

// What a process needs beside what grows with the repository: buffers, caches and a few objects; see settings.
const (
	leastMemory = 64 << 20
	usualMemory = 256 << 20
	memoryWait  = 2 * time.Minute

	littleMemory = 64 << 20 // beside what each of two processes needs at least: the part for those who take little is for such a fetch
)

// newMemory makes an account of so many bytes, of which one process gets no more than half, and no more than most.
func newMemory(total, most int64) *memory {
	m := &memory{most: min(most, total/2)}
	m.least = min(m.most, max(leastMemory, min(usualMemory, total/8)))
	m.Account = fair.New(fair.Config{Name: "bytes of memory for git", Total: total, Little: 2*m.least + littleMemory, Places: 1024, PlacesOne: 1024, Most: memoryWait})
	return m
}

// take waits for the memory of a run. It returns how much each process of the run may take; the caller calls release when they have ended. Take
// fails with ErrBusy, or with the cause of ctx.
func (m *memory) take(ctx context.Context, c Command, r Run) (each int64, release func(), err error) {
	each, all := m.needs(c, r)
	p := fair.Party{Network: r.Party}
	var g *fair.Grant
	if r.AtOnce {
		var why fair.Refusal
		if g, why = m.Take(p, all); why != fair.Granted {
			return 0, nil, fmt.Errorf("%w: memory: %w", ErrBusy, why)
		}
		return each, g.GiveBack, nil
	}
	g, err = m.Wait(ctx, p, all)
	var why fair.Refusal
	if errors.As(err, &why) {
		err = fmt.Errorf("%w: memory: %w", ErrBusy, why)
	}
	return each, g.GiveBack, err
}

// needs returns how much each process of a run may take, and all of them together. A walk holds a few bytes of each object that it meets,
// about as much as the objects take in packs.
func (m *memory) needs(c Command, r Run) (each, all int64) {
	each = min(m.most, m.least+2*min(r.Reads, m.most))
	if r.Greedy || r.Kind == Maintenance {
		each = m.most
	}
	if c.starts {
		each = min(each, m.most/2)
		return each, 2 * each
	}
	return each, each
}
