package pipe

import (
	"sync"
	"time"
)

// deadline is a time that can move while somebody waits for it.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	done  chan struct{}
}

func (d *deadline) over() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done == nil {
		d.done = make(chan struct{})
	}
	return d.done
}

// set moves the deadline. Those who wait already go on waiting for the new one.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stopped := d.timer == nil || d.timer.Stop()
	d.timer = nil
	select {
	case <-d.done:
		d.done = nil
	default:
		if !stopped { // the timer is about to close the old channel
			d.done = nil
		}
	}
	if t.IsZero() {
		return
	}
	if d.done == nil {
		d.done = make(chan struct{})
	}
	done := d.done
	if wait := time.Until(t); wait > 0 {
		d.timer = time.AfterFunc(wait, func() { close(done) })
		return
	}
	close(done)
}
