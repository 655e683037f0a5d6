package relaysync

import (
	"context"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
)

// listsChange brings new lists to Run.
type listsChange struct {
	lists  policy.Lists
	looser bool
}

// SetLists makes the engine follow only the repositories that the lists admit. With looser, the rules may accept events that they refused
// before: the engine then asks every relay for everything again, which costs little where the relay speaks NIP-77. The door must have the
// new rules already. SetLists returns at once; Run takes the newest lists when it follows the feed. One goroutine at a time may call it.
func (e *Engine) SetLists(l policy.Lists, looser bool) {
	select {
	case before := <-e.lists:
		looser = looser || before.looser
	default:
	}
	e.lists <- listsChange{l, looser}
}

// list puts the lists in force, and gives every relay concerned its new Want. It returns the channel that deliver returns.
func (e *Engine) list(ctx context.Context, l listsChange) <-chan time.Time {
	e.desired.SetLists(l.lists)
	delayed := e.deliver(ctx)
	if l.looser {
		e.whole.outdate()
		for _, p := range e.peers {
			p.reconsider()
		}
	}
	return delayed
}
