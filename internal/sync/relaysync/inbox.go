package relaysync

import (
	"context"
	"sync"

	"github.com/graspd/graspd/internal/sync/peer"
)

// inboxBound is how many inputs may be in the inbox before a reader waits for the shell.
const inboxBound = 4096

// inbox carries inputs to the shell in order. The reader of the connection waits while the inbox has inboxBound inputs. The door, which
// pushes verdicts, never waits, as its places bound their number.
type inbox struct {
	ready chan struct{} // holds a token while there is something to take
	mu    sync.Mutex    // guards items and room, never held across a wait
	items []arrival
	room  chan struct{} // closed when the shell takes the items
}

// arrival is an input and the connection to which it belongs.
type arrival struct {
	from *link
	in   peer.Input
}

func newInbox() *inbox {
	return &inbox{ready: make(chan struct{}, 1), room: make(chan struct{})}
}

// push adds an input without waiting.
func (b *inbox) push(from *link, in peer.Input) {
	b.add(from, in)
	poke(b.ready)
}

// add adds an input, and wakes nobody.
func (b *inbox) add(from *link, in peer.Input) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(b.items, arrival{from, in})
}

// poke puts a token where there is none.
func poke(token chan<- struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// pushWaiting adds an input, and then waits while there are inboxBound or more. It returns false when ctx ended first.
func (b *inbox) pushWaiting(ctx context.Context, from *link, in peer.Input) bool {
	b.push(from, in)
	return b.hasRoom(ctx)
}

// addWaiting does the same with an input that need not be taken before the next one: to wake the shell for each event costs more than the event.
func (b *inbox) addWaiting(ctx context.Context, from *link, in peer.Input) bool {
	b.add(from, in)
	return b.hasRoom(ctx)
}

// hasRoom waits while there are inboxBound inputs or more. It returns false when ctx ended first.
func (b *inbox) hasRoom(ctx context.Context) bool {
	for {
		b.mu.Lock()
		full, room := len(b.items) >= inboxBound, b.room
		b.mu.Unlock()
		if !full {
			return true
		}
		poke(b.ready)
		select {
		case <-room:
		case <-ctx.Done():
			return false
		}
	}
}

// take returns all inputs, and lets readers that wait go on. From now on the inbox fills spare.
func (b *inbox) take(spare []arrival) []arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	items := b.items
	b.items = spare[:0]
	close(b.room)
	b.room = make(chan struct{})
	return items
}
