package relaysync

import (
	"context"
	"sync"

	"github.com/graspd/graspd/internal/step"
)

// inboxBound is how many inputs a reader may leave before it waits for the shell.
const inboxBound = 4096

// inbox carries inputs to the shell in order. Whoever pushes verdicts never waits, as the door's places bound their number. The reader of
// the connection waits while the inbox has inboxBound inputs.
type inbox struct {
	ready chan struct{} // holds a token while there is something to take
	mu    sync.Mutex    // guards the two below, never held across a wait
	items []arrival
	room  chan struct{} // closed when the shell takes the items
}

// arrival is an input and the connection that it belongs to.
type arrival struct {
	from *link
	in   step.Input
}

func newInbox() *inbox {
	return &inbox{ready: make(chan struct{}, 1), room: make(chan struct{})}
}

// push adds an input without waiting.
func (b *inbox) push(from *link, in step.Input) {
	b.mu.Lock()
	b.items = append(b.items, arrival{from, in})
	b.mu.Unlock()
	poke(b.ready)
}

// poke puts a token where there is none.
func poke(token chan<- struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// pushWaiting adds an input and then waits while there are inboxBound or more. It gives false when ctx ended first.
func (b *inbox) pushWaiting(ctx context.Context, from *link, in step.Input) bool {
	b.push(from, in)
	for {
		b.mu.Lock()
		full, room := len(b.items) >= inboxBound, b.room
		b.mu.Unlock()
		if !full {
			return true
		}
		select {
		case <-room:
		case <-ctx.Done():
			return false
		}
	}
}

// take returns all inputs, and lets those that wait go on. The inbox fills spare from now on.
func (b *inbox) take(spare []arrival) []arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	items := b.items
	b.items = spare[:0]
	close(b.room)
	b.room = make(chan struct{})
	return items
}
