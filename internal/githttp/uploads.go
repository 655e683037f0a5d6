package githttp

import (
	"slices"
	"sync"

	"graspd/internal/front"
)

// Who may wait for a turn to push.
const (
	mostWaiting     = 64
	mostWaitingEach = 8 // of one address
)

// uploads hand out turns to push: those of the address go first that has fewest pushes under way, and among these who came first.
type uploads struct {
	pool *front.Pool

	mu      sync.Mutex // guards what follows
	waiting []*turn    // in the order in which they came
	running map[*front.Visitor]int
}

// turn is one that somebody has, or waits for.
type turn struct {
	of      *front.Visitor
	granted chan struct{} // closed once it is theirs
	grant   *front.Grant
}

func newUploads(p *front.Pool) *uploads { return &uploads{pool: p, running: map[*front.Visitor]int{}} }

// ask gives a turn or a place among those that wait; nil where there is neither.
func (u *uploads) ask(one *front.Visitor) *turn {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := &turn{of: one, granted: make(chan struct{})}
	if u.grant(t) {
		return t
	}
	theirs := 0
	for _, other := range u.waiting {
		if other.of == one && one != nil {
			theirs++
		}
	}
	if len(u.waiting) >= mostWaiting || theirs >= mostWaitingEach {
		return nil
	}
	u.waiting = append(u.waiting, t)
	return t
}

// grant is called with mu held.
func (u *uploads) grant(t *turn) bool {
	g, why := u.pool.Take(t.of, 1)
	if why != front.Granted {
		return false
	}
	t.grant = g
	u.running[t.of]++
	close(t.granted)
	return true
}

// has reports whether it is their turn, which needs no waiting for nil.
func (t *turn) has() bool {
	if t == nil {
		return true
	}
	select {
	case <-t.granted:
		return true
	default:
		return false
	}
}

// leave ends a turn, or the wait for it.
func (u *uploads) leave(t *turn) {
	if t == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if i := slices.Index(u.waiting, t); i >= 0 {
		u.waiting = slices.Delete(u.waiting, i, i+1)
		return
	}
	t.grant.GiveBack()
	if u.running[t.of]--; u.running[t.of] == 0 {
		delete(u.running, t.of)
	}
	order := slices.Clone(u.waiting)
	slices.SortStableFunc(order, func(a, b *turn) int { return u.running[a.of] - u.running[b.of] })
	for _, next := range order {
		if u.grant(next) {
			u.waiting = slices.DeleteFunc(u.waiting, func(w *turn) bool { return w == next })
			return
		}
	}
}

// queued is how many wait.
func (u *uploads) queued() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.waiting)
}
