package relaysync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/policy"
)

// ErrOver says that Run has ended.
var ErrOver = errors.New("the engine has stopped")

// listsChange brings new lists to Run.
type listsChange struct {
	lists  policy.Lists
	looser bool
}

// SetLists makes the engine follow only the repositories that the lists admit. With looser, the rules may accept events that they refused
// before: the engine then asks every relay for everything again, which costs little where the relay speaks NIP-77. The door must have the
// new rules already. SetLists waits until Run follows the feed. The error is ctx's cause or ErrOver.
func (e *Engine) SetLists(ctx context.Context, l policy.Lists, looser bool) error {
	select {
	case e.lists <- listsChange{l, looser}:
		return nil
	case <-e.over:
		return fmt.Errorf("set lists: %w", ErrOver)
	case <-ctx.Done():
		return fmt.Errorf("set lists: %w", context.Cause(ctx))
	}
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
