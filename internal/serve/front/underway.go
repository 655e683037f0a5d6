package front

import (
	"context"
	"sync"
)

// underWay counts the requests that are being served, so that Drain can wait for the last.
type underWay struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when no request is left; nil while nobody waits
}

func (u *underWay) enter() (leave func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.n--; u.n == 0 && u.none != nil {
			close(u.none)
			u.none = nil
		}
	}
}

// Drain waits until no request is being served any more, but for those of routes that keep connections. It fails with the cause of ctx. The
// caller first closes the connections of the server, which ends the contexts of their requests.
func (f *Front) Drain(ctx context.Context) error {
	select {
	case <-f.underWay.over():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (u *underWay) over() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.none == nil {
		u.none = make(chan struct{})
	}
	over := u.none
	if u.n == 0 {
		close(u.none)
		u.none = nil
	}
	return over
}
