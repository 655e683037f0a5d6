package main

import (
	"context"
	"time"

	"github.com/graspd/graspd/interop/wire"
)

// descendants are the processes that graspd has started, and that these have.
func (g *process) descendants() []int { return wire.Descendants(g.cmd.Process.Pid) }

// childless waits until all that it has started has ended, so that the system counts what they took.
func (g *process) childless(ctx context.Context) error {
	for len(g.descendants()) > 0 {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// watchMemory looks at the memory of the process and of all that it has started, until the function that it returns is called:
// that tells the most that they had together.
func (g *process) watchMemory(ctx context.Context) (stop func() int64) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan int64, 1)
	go func() {
		var most int64
		for ctx.Err() == nil {
			sum := g.size("VmRSS")
			for _, pid := range g.descendants() {
				sum += wire.MemoryOf(pid, "VmRSS")
			}
			most = max(most, sum)
			time.Sleep(5 * time.Millisecond)
		}
		done <- most
	}()
	return func() int64 {
		cancel()
		return <-done
	}
}
