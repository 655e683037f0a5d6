// Package gitproc runs git: no other part of a relay starts a process. It decides what git is told (argument vectors of constants, the
// settings, an environment made from nothing) and what git may take: slots by kind of work, fair between those who wait, and limits on
// memory, processor and files. Read [Run] first, then the commands.
package gitproc

import (
	"cmp"
	"context"
	"runtime"
	"time"
)

// Config says how to run git. The zero value is right for production.
type Config struct {
	Program string // a path, or a name to look for on PATH; "" is git
	CPUs    int    // processors, which slots are in proportion to; 0 is as many as there are
	Fetches int    // slots for Fetch, without the one that is kept; 0 is in proportion
	Memory  int64  // bytes that all processes together may take for themselves; 0 is half of what the machine has, or the control group
	Limits  Limits // of each process; a zero field has its default
	Queue   Queue  // a zero field has its default
}

// Limits bound one process and those that it starts.
type Limits struct {
	Memory int64         // bytes of address space; 1 GiB
	CPU    time.Duration // of the processor, in whole seconds; 300 s
	File   int64         // bytes of a file that it writes, unless its Run says another number; 2 GiB
}

// OtherServers is the party of the work on what graspd fetches from other servers. It has its turns like any other party, but is never refused a place to wait: a
// pack that is thrown away because git had no place for it has to be fetched again. gitsync bounds how much of it there is (Concurrency).
const OtherServers = "git data of other servers"

// Queue bounds who waits for a slot of one kind, and how long.
type Queue struct {
	Places   int // 256; heavy work has half of them
	PerParty int // 4
	// Wait is how long the Fetch of a party waits before it fails with ErrBusy: 1 minute.
	Wait time.Duration
}

// Git runs a git program that Open found fit. Any number of goroutines may use it.
type Git struct {
	program string
	version Version
	limits  Limits
	memory  *memory
	kinds   [kinds]pool
}

// Open looks for the git program, asks it for its version and tries it. It fails with an [*UnfitError], which says what to install.
func Open(ctx context.Context, cfg Config) (*Git, error) {
	program, err := look(cfg.Program)
	if err != nil {
		return nil, err
	}
	g := &Git{program: program, limits: cfg.Limits.orDefault()}
	g.memory = newMemory(cmp.Or(cfg.Memory, machineMemory()/2), g.limits.Memory)
	cpus := cmp.Or(cfg.CPUs, runtime.GOMAXPROCS(0))
	for kind := range g.kinds {
		n := Kind(kind).slots(cpus)
		if Kind(kind) == Fetch {
			n = cmp.Or(cfg.Fetches, n)
		}
		g.kinds[kind].slots = newSlots(n, cmp.Or(cfg.Queue.Places, usualPlaces), cmp.Or(cfg.Queue.PerParty, 4))
		if Kind(kind) != Maintenance {
			g.kinds[kind].slots.keepOne()
		}
	}
	g.kinds[Fetch].slots.most = cmp.Or(cfg.Queue.Wait, time.Minute)
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
	return Limits{Memory: cmp.Or(l.Memory, 1<<30), CPU: cmp.Or(l.CPU, 300*time.Second), File: cmp.Or(l.File, 2<<30)}
}

// of returns the limits of a run.
func (l Limits) of(r Run) Limits {
	return Limits{Memory: l.Memory, CPU: min(l.CPU, cmp.Or(r.CPU, fetchTime(r), l.CPU)), File: cmp.Or(r.MaxFile, l.File)}
}

// How much of the processor a fetch may take by the packs that it reads: histories take a tenth of it.
const (
	fetchFree   = 10 * time.Second
	fetchPerMiB = time.Second
)

// fetchTime returns how much a fetch may take; 0 where nobody said what it reads, and for other work.
func fetchTime(r Run) time.Duration {
	if r.Kind != Fetch || r.Reads == 0 {
		return 0
	}
	return fetchFree + time.Duration(r.Reads>>20)*fetchPerMiB
}

// Kind is a kind of work. Each has slots of its own.
type Kind uint8

// The kinds of work. Fetch and Upload have one slot more, for short work of parties that have no other and took little.
const (
	Fetch       Kind = iota // packs for clients: 2 slots for each processor
	Upload                  // packs from clients, and questions about them: 1 for each processor, and 2 at least
	Maintenance             // work that nobody waits for: 1
	kinds
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Fetch, Upload, Maintenance} }

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
