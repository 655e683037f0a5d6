// Package gitproc runs git: no other part of a relay starts a process. It decides what git is told (argument vectors of constants, the
// settings, an environment made from nothing) and what git may take: slots by kind of work, fair between those who wait, and limits on
// memory, processor and files. Read [Run] first, then the commands.
package gitproc

import (
	"context"
	"runtime"
	"time"
)

// Config says how to run git. The zero value is right for production.
type Config struct {
	Program string // a path, or a name to look for on PATH; "" is git
	CPUs    int    // processors, which slots are in proportion to; 0 is as many as there are
	Fetches int    // slots for Fetch; 0 is in proportion
	Limits  Limits // of each process; a zero field has its default
	Queue   Queue  // a zero field has its default
}

// Limits bound one process and those that it starts.
type Limits struct {
	Memory int64         // bytes of address space; 1 GiB
	CPU    time.Duration // of the processor, in whole seconds; 300 s
	File   int64         // bytes of a file that it writes, unless its Run says another number; 2 GiB
}

// Queue bounds who waits for a slot of one kind, and how long.
type Queue struct {
	Places   int // 64
	PerParty int // 4
	// Wait is how long the Fetch of a party waits before it fails with ErrBusy: 1 minute.
	Wait time.Duration
}

// Git runs a git program that Open found fit. Any number of goroutines may use it.
type Git struct {
	program string
	version Version
	limits  Limits
	kinds   [kinds]pool
}

// Open looks for the git program, asks it for its version and tries it. It fails with an [*UnfitError], which says what to install.
func Open(ctx context.Context, cfg Config) (*Git, error) {
	program, err := look(cfg.Program)
	if err != nil {
		return nil, err
	}
	g := &Git{program: program, limits: cfg.Limits.orDefault()}
	cpus := or(cfg.CPUs, runtime.GOMAXPROCS(0))
	for kind := range g.kinds {
		n := Kind(kind).slots(cpus)
		if Kind(kind) == Fetch {
			n = or(cfg.Fetches, n)
		}
		g.kinds[kind].slots = newSlots(n, or(cfg.Queue.Places, 64), or(cfg.Queue.PerParty, 4))
	}
	g.kinds[Fetch].slots.most = or(cfg.Queue.Wait, time.Minute)
	g.version, err = g.fit(ctx)
	if err != nil {
		return nil, err
	}
	g.kinds[Fetch].forget()
	return g, nil
}

// Version returns the version of the program.
func (g *Git) Version() Version { return g.version }

func (l Limits) orDefault() Limits {
	return Limits{Memory: or(l.Memory, 1<<30), CPU: or(l.CPU, 300*time.Second), File: or(l.File, 2<<30)}
}

// of returns the limits of a run.
func (l Limits) of(r Run) Limits {
	return Limits{Memory: l.Memory, CPU: min(l.CPU, or(r.CPU, l.CPU)), File: or(r.MaxFile, l.File)}
}

// or returns value; zero where value is 0.
func or[T int | int64 | time.Duration](value, zero T) T {
	if value == 0 {
		return zero
	}
	return value
}

// Kind is a kind of work. Each has slots of its own.
type Kind uint8

// The kinds of work.
const (
	Fetch       Kind = iota // packs for clients: 2 slots for each processor
	Upload                  // packs from clients, and questions about them: 1 for each processor, and 2 at least
	Maintenance             // work that nobody waits for: 1
	kinds
)

func (k Kind) String() string { return [...]string{"fetch", "upload", "maintenance"}[k] }

func (k Kind) slots(cpus int) int {
	switch k {
	case Fetch:
		return 2 * cpus
	case Upload:
		return max(2, cpus) // so that light work runs beside heavy work
	}
	return 1
}
