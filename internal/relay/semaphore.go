package relay

import (
	"context"
	"runtime"
)

// semaphore bounds how much of one kind of work goes on at the same time, for all clients. It holds a token for each piece of work under
// way.
type semaphore chan struct{}

// acquire waits for a token, or gives the cause why ctx ended.
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

// parsers is how many large messages are parsed at the same time: half as many as there are processors, so that the others are left for
// everything else.
func parsers() int { return max(1, runtime.GOMAXPROCS(0)/2) }
