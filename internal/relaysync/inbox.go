package relaysync

import (
	"context"
	"sync"

	"graspd/internal/plan"
)

const (
	inboxBound = 4096 // inputs that a reader may leave before it waits for the shell
	inboxAhead = 64   // inputs that may wait for the one that wakes the shell
)

// inbox carries inputs to the shell in order. Verdicts never wait: their number
// is bounded by the door's places. The connection's reader waits while it is full.
type inbox struct {
	ready chan struct{} // holds a token while there is something to take
	mu    sync.Mutex    // guards the two below, never held across a wait
	items []arrival
	room  chan struct{} // closed when the shell has taken what was there
}

// arrival is an input and the connection it belongs to; nil = any.
type arrival struct {
	from *link
	in   plan.Input
}

func newInbox() *inbox {
	return &inbox{ready: make(chan struct{}, 1), room: make(chan struct{})}
}

// push adds an input without waiting.
func (b *inbox) push(from *link, in plan.Input) {
	b.add(from, in)
	b.wake()
}

// add adds an input and returns how many wait.
func (b *inbox) add(from *link, in plan.Input) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(b.items, arrival{from, in})
	return len(b.items)
}

func (b *inbox) wake() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// pushWaiting adds an input and then waits while there are too many; it
// reports false when ctx ended first.
func (b *inbox) pushWaiting(ctx context.Context, from *link, in plan.Input) bool {
	b.push(from, in)
	return b.wait(ctx)
}

// pushBefore is pushWaiting for an input that another one follows for certain, such as the verdict on an event: the shell
// is woken once for both, unless many wait.
func (b *inbox) pushBefore(ctx context.Context, from *link, in plan.Input) bool {
	if b.add(from, in) >= inboxAhead {
		b.wake()
	}
	return b.wait(ctx)
}

func (b *inbox) wait(ctx context.Context) bool {
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

// take returns all inputs that wait and gives their place back.
func (b *inbox) take(spare []arrival) []arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	items := b.items
	b.items = spare[:0]
	close(b.room)
	b.room = make(chan struct{})
	return items
}
