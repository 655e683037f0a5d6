// Package pipe is a network connection in memory, with a buffer each way, which works
// in a bubble of testing/synctest, takes its time on the way, stalls and breaks.
package pipe

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// buffer is how many bytes lie between the two ends of a connection, in each
// direction, before a writer waits.
const buffer = 64 << 10

var errReset = &net.OpError{Op: "read", Net: "pipe", Err: syscall.ECONNRESET}

// Conn is one end of a connection.
type Conn struct {
	in, out       *half
	local, remote address
	readBy        deadline
	writeBy       deadline
	closed        func() // with the first Close or Reset of either end
}

type address string

func (address) Network() string  { return "pipe" }
func (a address) String() string { return string(a) }

// New connects two ends, whose addresses are such as "198.51.100.7:5000". What the near end sends arrives after the times
// that up draws, one for each piece, and in order; down does so for the far end; nil is at once.
func New(near, far string, up, down func() time.Duration) (client, server *Conn) {
	there, back := newHalf(up), newHalf(down)
	client = &Conn{in: back, out: there, local: address(near), remote: address(far), closed: func() {}}
	server = &Conn{in: there, out: back, local: address(far), remote: address(near), closed: func() {}}
	return client, server
}

// OnClose has f called once, as soon as either end is closed or the connection reset. It is set before the connection is used.
func (c *Conn) OnClose(other *Conn, f func()) {
	once := sync.OnceFunc(f)
	c.closed, other.closed = once, once
}

// Stall stops, or starts again, the flow in both directions.
func (c *Conn) Stall(on bool) {
	c.in.stall(on)
	c.out.stall(on)
}

// Read reads what has arrived.
func (c *Conn) Read(p []byte) (int, error) {
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

// Write waits while too much is on its way.
func (c *Conn) Write(p []byte) (n int, err error) {
	for n < len(p) {
		select {
		case <-c.writeBy.over():
			return n, os.ErrDeadlineExceeded
		default:
		}
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
func (c *Conn) Close() error {
	c.in.end(net.ErrClosed, true)
	c.out.end(io.EOF, false)
	c.closed()
	return nil
}

// Reset ends both directions at once, for both ends.
func (c *Conn) Reset() {
	c.in.end(errReset, true)
	c.out.end(errReset, true)
	c.closed()
}

// LocalAddr is this end's.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the other's.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline is for reading and writing.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline can be moved while somebody reads.
func (c *Conn) SetReadDeadline(t time.Time) error { c.readBy.set(t); return nil }

// SetWriteDeadline can be moved while somebody writes.
func (c *Conn) SetWriteDeadline(t time.Time) error { c.writeBy.set(t); return nil }
