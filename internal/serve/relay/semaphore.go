package relay

import (
	"context"
	"runtime"
)

// semaphore bounds how much of one kind of work goes on at the same time, for all clients. It holds a token for each piece of work under
// way.
type semaphore chan struct{}

// acquire waits for a token. It fails with the cause of ctx.
func (p semaphore) acquire(ctx context.Context) error {
	select {
	case p <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release gives a token back.
func (p semaphore) release() { <-p }

// halfOfProcessors is how many sessions have work done that takes long at the same time: the other half is free for everything else.
func halfOfProcessors() int { return max(1, runtime.GOMAXPROCS(0)/2) }
