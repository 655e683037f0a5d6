package testkit

import (
	"context"
	"sync"
	"time"
)

// laneDepth is how many frames may lie between the two ends of a connection, in each direction, before a writer waits.
const laneDepth = 64

// lane is one direction of a connection to a fake relay.
type lane struct {
	delay func() time.Duration // of the next frame; nil is none

	mu      sync.Mutex // guards the fields below
	frames  []frame
	last    time.Time // arrival of the newest frame
	stalled bool      // take gets nothing
	changed chan struct{}
}

type frame struct {
	at   time.Time
	text []byte
}

func newLane(delay func() time.Duration) *lane {
	return &lane{delay: delay, changed: make(chan struct{})}
}

// change wakes those who wait. The caller holds mu.
func (l *lane) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *lane) stall(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stalled = on
	l.change()
}

// put waits for room and sends a frame; false when done or ctx came first.
func (l *lane) put(ctx context.Context, done <-chan struct{}, text []byte) bool {
	for {
		changed, ok := l.offer(text)
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-done:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (l *lane) offer(text []byte) (changed <-chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.frames) >= laneDepth {
		return l.changed, false
	}
	at := time.Now()
	if l.delay != nil {
		at = at.Add(l.delay())
		if !at.After(l.last) {
			at = l.last.Add(1)
		}
	}
	l.last = at
	l.frames = append(l.frames, frame{at, text})
	l.change()
	return nil, true
}

// take waits for the next frame to arrive; false when done or ctx came first and nothing has arrived.
func (l *lane) take(ctx context.Context, done <-chan struct{}) ([]byte, bool) {
	for {
		text, at, changed := l.next()
		if text != nil {
			return text, true
		}
		var due <-chan time.Time
		if !at.IsZero() {
			t := time.NewTimer(time.Until(at))
			defer t.Stop()
			due = t.C
		}
		select {
		case <-changed:
		case <-due:
		case <-done:
			return nil, false
		case <-ctx.Done():
			return nil, false
		}
	}
}

// next returns a frame that has arrived, or else when to look again.
func (l *lane) next() (text []byte, at time.Time, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stalled || len(l.frames) == 0 {
		return nil, at, l.changed
	}
	if f := l.frames[0]; !f.at.After(time.Now()) {
		l.frames = l.frames[1:]
		l.change()
		return f.text, at, nil
	}
	return nil, l.frames[0].at, l.changed
}
