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

// listsChange is a change of the lists on its way to Run.
type listsChange struct {
	lists  policy.Lists
	looser bool
}

// SetLists has only those repositories followed that the lists admit. With looser, the rules may accept what they refused before: every
// relay is asked for everything again, which costs little where it speaks NIP-77. The door must have the new rules already. SetLists
// waits until Run follows the feed. The error is ctx's cause or ErrOver.
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

// list takes the lists over and gives every relay concerned its new Want. It returns what deliver returns.
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
