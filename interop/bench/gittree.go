package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"graspd/interop/wire"
)

// descendants are the processes that graspd has started, and that these have.
func (g *process) descendants() (pids []int) {
	parents := map[int]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well-formed
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if f := strings.Fields(rest); len(f) > 1 {
			parents[pid], _ = strconv.Atoi(f[1])
		}
	}
	for pid := range parents {
		for p := parents[pid]; p != 0; p = parents[p] {
			if p == g.cmd.Process.Pid {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

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
