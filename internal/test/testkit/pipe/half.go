package pipe

import (
	"io"
	"slices"
	"sync"
	"time"
)

// half is one direction of a connection: bytes on their way, each chunk with the time of its arrival.
type half struct {
	delay func() time.Duration // of the next chunk; nil is none

	mu      sync.Mutex // guards the fields below
	chunks  []chunk
	size    int
	last    time.Time // arrival of the newest chunk
	stalled bool      // nothing arrives
	err     error     // the error of a reader behind the last chunk, and of a writer at once
	broken  bool      // chunks under way are lost
	changed chan struct{}
}

type chunk struct {
	at   time.Time
	data []byte
}

func newHalf(delay func() time.Duration) *half {
	return &half{delay: delay, changed: make(chan struct{})}
}

// update changes the half and wakes those who wait for it.
func (h *half) update(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	close(h.changed)
	h.changed = make(chan struct{})
}

// end lets a reader read what is under way and then fail with err. With broken what is under way is lost.
func (h *half) end(err error, broken bool) {
	h.update(func() {
		if h.err == nil {
			h.err = err
		}
		h.broken = h.broken || broken
	})
}

func (h *half) stall(on bool) { h.update(func() { h.stalled = on }) }

// read takes bytes that have arrived. Where none have, it returns when to look again: at a time, or at a change.
func (h *half) read(p []byte) (n int, at time.Time, changed <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.broken || h.err != nil && len(h.chunks) == 0:
		return 0, at, nil, h.err
	case len(p) == 0:
		return 0, at, nil, nil
	case h.stalled || len(h.chunks) == 0:
		return 0, at, h.changed, nil
	}
	for n < len(p) && len(h.chunks) > 0 && !h.chunks[0].at.After(time.Now()) {
		k := copy(p[n:], h.chunks[0].data)
		n += k
		if h.chunks[0].data = h.chunks[0].data[k:]; len(h.chunks[0].data) == 0 {
			h.chunks = h.chunks[1:]
		}
	}
	if n == 0 {
		return 0, h.chunks[0].at, h.changed, nil
	}
	h.size -= n
	close(h.changed)
	h.changed = make(chan struct{})
	return n, at, nil, nil
}

// write puts a chunk on its way. Where there is no room, it returns what to wait for.
func (h *half) write(p []byte) (n int, changed <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return 0, nil, io.ErrClosedPipe
	}
	n = min(len(p), buffer-h.size)
	if n == 0 {
		return 0, h.changed, nil
	}
	at := time.Now()
	if h.delay != nil {
		if at = at.Add(h.delay()); !at.After(h.last) {
			at = h.last.Add(1)
		}
	}
	h.last = at
	h.chunks = append(h.chunks, chunk{at, slices.Clone(p[:n])})
	h.size += n
	close(h.changed)
	h.changed = make(chan struct{})
	return n, nil, nil
}
