package relay

import (
	"context"
	"runtime"
)

// places bound how much of one kind of work goes on at the same time, for all clients; the rest waits. It holds a token for each
// piece that is worked on.
type places chan struct{}

// enter waits for a place, or gives the cause why ctx ended.
func (p places) enter(ctx context.Context) error {
	select {
	case p <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p places) leave() { <-p }

// parsers is how many large messages are parsed at the same time: however many addresses send them, half of the processors are
// left for everything else.
func parsers() int { return max(1, runtime.GOMAXPROCS(0)/2) }
