package relay_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// network connects clients to one server in memory, with a buffer each way, so that it works in a synctest bubble.
type network struct {
	incoming chan net.Conn
	closed   chan struct{}
	once     sync.Once
	buffer   int
}

func newNetwork() *network {
	return &network{incoming: make(chan net.Conn), closed: make(chan struct{}), buffer: 64 << 10}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.incoming:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

const serverAddr pipeAddr = "192.0.2.1:80"

func (n *network) Addr() net.Addr { return serverAddr }

// dial connects from an address such as "198.51.100.7:5000".
func (n *network) dial(ctx context.Context, from string) (net.Conn, error) {
	up, down := newHalf(n.buffer), newHalf(n.buffer)
	client := &pipeConn{in: down, out: up, local: pipeAddr(from), remote: serverAddr}
	server := &pipeConn{in: up, out: down, local: serverAddr, remote: pipeAddr(from)}
	select {
	case n.incoming <- server:
		return client, nil
	case <-n.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type pipeAddr string

func (a pipeAddr) Network() string { return "pipe" }
func (a pipeAddr) String() string  { return string(a) }

// half is one direction of a connection.
type half struct {
	mu      sync.Mutex
	buf     []byte
	limit   int
	closed  bool
	changed chan struct{} // closed and replaced with every change
}

func newHalf(limit int) *half { return &half{limit: limit, changed: make(chan struct{})} }

// do runs step under the lock until it reports that it is done, waiting for changes in between.
func (h *half) do(d *deadline, step func() bool) error {
	for {
		h.mu.Lock()
		if step() {
			close(h.changed)
			h.changed = make(chan struct{})
			h.mu.Unlock()
			return nil
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-d.passed():
			return os.ErrDeadlineExceeded
		}
	}
}

func (h *half) close() {
	var none deadline
	h.do(&none, func() bool { h.closed = true; return true })
}

type pipeConn struct {
	in, out       *half
	local, remote pipeAddr
	read, write   deadline
}

func (c *pipeConn) Read(p []byte) (n int, err error) {
	e := c.in.do(&c.read, func() bool {
		n = copy(p, c.in.buf)
		c.in.buf = c.in.buf[n:]
		if n == 0 && c.in.closed {
			err = io.EOF
		}
		return n > 0 || err != nil || len(p) == 0
	})
	return n, errors.Join(e, err)
}

func (c *pipeConn) Write(p []byte) (n int, err error) {
	for n < len(p) {
		e := c.out.do(&c.write, func() bool {
			if c.out.closed {
				err = io.ErrClosedPipe
				return true
			}
			m := min(len(p)-n, c.out.limit-len(c.out.buf))
			c.out.buf = append(c.out.buf, p[n:n+m]...)
			n += m
			return m > 0
		})
		if e != nil || err != nil {
			return n, errors.Join(e, err)
		}
	}
	return n, nil
}

func (c *pipeConn) Close() error {
	c.in.close()
	c.out.close()
	return nil
}

func (c *pipeConn) LocalAddr() net.Addr  { return c.local }
func (c *pipeConn) RemoteAddr() net.Addr { return c.remote }
func (c *pipeConn) SetDeadline(t time.Time) error {
	c.read.set(t)
	c.write.set(t)
	return nil
}
func (c *pipeConn) SetReadDeadline(t time.Time) error  { c.read.set(t); return nil }
func (c *pipeConn) SetWriteDeadline(t time.Time) error { c.write.set(t); return nil }

// deadline is a point in time that can be moved while somebody waits for it.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	over  chan struct{}
}

func (d *deadline) passed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over == nil {
		d.over = make(chan struct{})
	}
	return d.over
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	if d.over != nil {
		select {
		case <-d.over:
			d.over = nil
		default:
		}
	}
	if d.over == nil {
		d.over = make(chan struct{})
	}
	if t.IsZero() {
		return
	}
	over := d.over
	if wait := time.Until(t); wait > 0 {
		d.timer = time.AfterFunc(wait, func() { close(over) })
		return
	}
	close(over)
}
