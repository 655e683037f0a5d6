package sim

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// pipeBuffer is how many bytes lie between the two ends of a connection, in each
// direction, before a writer waits.
const pipeBuffer = 64 << 10

var errReset = &net.OpError{Op: "read", Net: "pipe", Err: syscall.ECONNRESET}

// half is one direction of a connection: bytes on their way, each chunk with the
// time of its arrival.
type half struct {
	delay func() time.Duration // of the next chunk

	mu      sync.Mutex // guards all below
	chunks  []chunk
	size    int
	last    time.Time // arrival of the newest chunk
	stalled bool      // nothing arrives
	err     error     // what a reader gets behind the last chunk, and a writer at once
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

// end lets a reader read what is under way and then gives it err; a break loses that too.
func (h *half) end(err error, broken bool) {
	h.update(func() {
		if h.err == nil {
			h.err = err
		}
		h.broken = h.broken || broken
	})
}

func (h *half) stall(on bool) { h.update(func() { h.stalled = on }) }

// read takes what has arrived; otherwise it says when to look again: at a time, or at a change.
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

// write puts a chunk on its way, or says what to wait for.
func (h *half) write(p []byte) (n int, changed <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return 0, nil, io.ErrClosedPipe
	}
	n = min(len(p), pipeBuffer-h.size)
	if n == 0 {
		return 0, h.changed, nil
	}
	at := time.Now().Add(h.delay())
	if !at.After(h.last) {
		at = h.last.Add(1)
	}
	h.last = at
	h.chunks = append(h.chunks, chunk{at, slices.Clone(p[:n])})
	h.size += n
	close(h.changed)
	h.changed = make(chan struct{})
	return n, nil, nil
}

// pipe is one end of a connection.
type pipe struct {
	in, out       *half
	local, remote addr
	readBy        deadline
	writeBy       deadline
	closed        func() // once
}

type addr string

func (addr) Network() string  { return "pipe" }
func (a addr) String() string { return string(a) }

func (c *pipe) Read(p []byte) (int, error) {
	for {
		n, at, changed, err := c.in.read(p)
		if changed == nil {
			return n, err
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
		case <-c.readBy.over():
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (c *pipe) Write(p []byte) (n int, err error) {
	for n < len(p) {
		k, changed, err := c.out.write(p[n:])
		n += k
		if err != nil {
			return n, err
		}
		if changed == nil {
			continue
		}
		select {
		case <-changed:
		case <-c.writeBy.over():
			return n, os.ErrDeadlineExceeded
		}
	}
	return n, nil
}

// Close ends both directions; the other side reads what is under way.
func (c *pipe) Close() error {
	c.in.end(net.ErrClosed, true)
	c.out.end(io.EOF, false)
	c.closed()
	return nil
}

// reset ends both directions at once, for both ends.
func (c *pipe) reset() {
	c.in.end(errReset, true)
	c.out.end(errReset, true)
	c.closed()
}

func (c *pipe) LocalAddr() net.Addr  { return c.local }
func (c *pipe) RemoteAddr() net.Addr { return c.remote }
func (c *pipe) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
func (c *pipe) SetReadDeadline(t time.Time) error  { c.readBy.set(t); return nil }
func (c *pipe) SetWriteDeadline(t time.Time) error { c.writeBy.set(t); return nil }

// deadline is a time that can be moved while somebody waits for it.
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

// set moves it; those who wait already go on waiting for the new one.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stopped := d.timer == nil || d.timer.Stop()
	d.timer = nil
	select {
	case <-d.done:
		d.done = nil
	default:
		if !stopped { // it is about to close the old one
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
