// Package pipe makes network connections in memory, with a buffer each way. They work in a bubble of testing/synctest, take time on the way, stall
// and break.
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

// buffer is how many bytes may lie between the two ends of a connection, in each direction, before a writer waits.
const buffer = 64 << 10

var errReset = &net.OpError{Op: "read", Net: "pipe", Err: syscall.ECONNRESET}

// Conn is one end of a connection.
type Conn struct {
	in, out       *half
	local, remote address
	readBy        deadline
	writeBy       deadline
	closed        func() // called at the first Close or Reset of either end
}

type address string

func (address) Network() string  { return "pipe" }
func (a address) String() string { return string(a) }

// New connects two ends, with addresses such as "198.51.100.7:5000". Each piece that the near end sends arrives after a time that up draws, and
// in order; down draws the times of the far end. With nil pieces arrive at once.
func New(near, far string, up, down func() time.Duration) (client, server *Conn) {
	there, back := newHalf(up), newHalf(down)
	client = &Conn{in: back, out: there, local: address(near), remote: address(far), closed: func() {}}
	server = &Conn{in: there, out: back, local: address(far), remote: address(near), closed: func() {}}
	return client, server
}

// OnClose has f called once, as soon as either end is closed or reset. Call it before anybody uses the connection.
func (c *Conn) OnClose(other *Conn, f func()) {
	once := sync.OnceFunc(f)
	c.closed, other.closed = once, once
}

// Stall stops, or starts again, the flow in both directions.
func (c *Conn) Stall(on bool) {
	c.in.stall(on)
	c.out.stall(on)
}

// Read reads bytes that have arrived, and waits where none have.
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

// Close ends both directions. The other side can still read what is under way.
func (c *Conn) Close() error {
	c.in.end(net.ErrClosed, true)
	c.out.end(io.EOF, false)
	c.closed()
	return nil
}

// Reset ends both directions at once, for both ends. What is under way is lost.
func (c *Conn) Reset() {
	c.in.end(errReset, true)
	c.out.end(errReset, true)
	c.closed()
}

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets the deadlines for reading and writing.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline sets the deadline for reading, also while somebody reads.
func (c *Conn) SetReadDeadline(t time.Time) error { c.readBy.set(t); return nil }

// SetWriteDeadline sets the deadline for writing, also while somebody writes.
func (c *Conn) SetWriteDeadline(t time.Time) error { c.writeBy.set(t); return nil }
