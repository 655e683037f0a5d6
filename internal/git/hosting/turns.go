package hosting

import (
	"context"
	"sync"

	"github.com/graspd/graspd/internal/protocol/nip34"
)

// turns lets one goroutine at a time work on a repository.
type turns struct {
	mu   sync.Mutex
	held map[nip34.Address]chan struct{} // closed when the goroutine that works there leaves
}

// enter waits until no other goroutine works on a repository.
func (t *turns) enter(ctx context.Context, of nip34.Address) (leave func(), err error) {
	for {
		t.mu.Lock()
		other, busy := t.held[of]
		if !busy {
			if t.held == nil {
				t.held = map[nip34.Address]chan struct{}{}
			}
			t.held[of] = make(chan struct{})
		}
		t.mu.Unlock()
		if !busy {
			return func() { t.leave(of) }, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (t *turns) leave(of nip34.Address) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.held[of])
	delete(t.held, of)
}
