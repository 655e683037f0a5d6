package relay

import (
	"bufio"
	"encoding/binary"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// corkBytes is how many bytes may wait to be sent together, beside the frame that exceeds them. A client that takes so many bytes
	// within writeTimeout is quick enough.
	corkBytes    = 16 << 10
	writeTimeout = 20 * time.Second       // for one write
	stallTime    = 200 * time.Millisecond // a write that takes longer has stalled
	pieceBytes   = 192 << 10              // for one write, more than the frame of any event but a large state

	finText  = 0x81 // the first byte of a text message in one frame
	finClose = 0x88 // the first byte of a close frame
)

// cork is the connection under a client's WebSocket. From a text on, frames wait until release and go out together, so that an answer of
// many frames costs a few system calls. Where a client does not take frames in time, the write fails and the session ends.
//
// The library writes control frames from other goroutines, each by one Write. They go out with the other frames. Write does not wait while
// something is being sent, as the library would then give up the connection.
type cork struct {
	net.Conn
	count   func([]byte) // counts what was read; may be nil
	pace    func()       // waits before a read; nil until the session has begun
	spare   *recycled    // where buf comes from
	sending atomic.Int64 // when the write under way began, in nanoseconds since 1970; 0 for none
	moved   atomic.Int64 // when a stalled write last got through, in nanoseconds since 1970: so the client does take frames

	writing sync.Mutex // held while something is sent, so that no frame overtakes another

	mu      sync.Mutex // guards what follows; never held across a wait
	held    bool
	closing bool      // a close frame was written; nothing follows it
	retired bool      // the cork drops everything from now on
	busy    bool      // a goroutine is sending, and will also send the bytes that come meanwhile
	since   time.Time // when the first byte of buf came
	buf     *[]byte   // the bytes that wait; nil for none
}

// Read reads from the client, at the pace of the client's address.
func (c *cork) Read(p []byte) (int, error) {
	if c.pace != nil {
		c.pace()
	}
	n, err := c.Conn.Read(p)
	if c.count != nil {
		c.count(p[:n])
	}
	return n, err
}

// hold adds a text message, given in parts, to what waits, as one frame (RFC 6455, 5.2), and reports whether so much waits that the caller is to
// drain the cork. Else the frame waits for release. The library would write the same frame, but with its locks and buffers. hold fails once
// the library has written a close frame.
func (c *cork) hold(parts ...[]byte) (full bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false, net.ErrClosed
	}
	c.held = true
	c.begin()
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	*c.buf = slices.Grow(appendTextHeader(*c.buf, n), n)
	for _, p := range parts {
		*c.buf = append(*c.buf, p...)
	}
	return len(*c.buf) >= corkBytes, nil
}

// appendTextHeader appends the header of an unmasked text message in one frame.
func appendTextHeader(dst []byte, n int) []byte {
	switch {
	case n < 126:
		return append(dst, finText, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, finText, 126), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, finText, 127), uint64(n))
}

// release sends the waiting frames. From then on frames go out at once, until the next text.
func (c *cork) release() error {
	c.mu.Lock()
	c.held = false
	c.mu.Unlock()
	return c.drain()
}

// waiting returns how many bytes wait, and for how long.
func (c *cork) waiting() (int, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.buf == nil {
		return 0, 0
	}
	return len(*c.buf), time.Since(c.since)
}

// Write sends p, or keeps it to send it later.
func (c *cork) Write(p []byte) (int, error) {
	if n, _ := c.waiting(); n > 2*corkBytes { // a flood of pongs must not pile up until release
		if err := c.drain(); err != nil {
			return 0, err
		}
	}
	if c.keep(p) {
		return len(p), nil
	}
	return len(p), c.drain()
}

// keep adds p to buf, and reports whether the caller is done: buf waits for release, or another goroutine is sending and will send it, or
// the cork sends nothing any more.
func (c *cork) keep(p []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = c.closing || len(p) > 0 && p[0] == finClose
	if c.retired {
		return true
	}
	c.begin()
	*c.buf = append(*c.buf, p...)
	return c.held || c.busy
}

// begin takes a buffer if nothing waits yet. The caller holds mu, and then adds to buf.
func (c *cork) begin() {
	if c.buf == nil {
		c.buf, c.since = c.spare.take(), time.Now()
	}
}

// drain sends the waiting bytes, and those that come meanwhile.
func (c *cork) drain() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	for buf := c.take(); buf != nil; buf = c.take() {
		err := c.passAll(*buf)
		c.spare.give(buf, 4*corkBytes)
		if err != nil {
			return err
		}
	}
	return nil
}

// retire gives the buffer back, with bytes that wait. The cork drops all later writes.
func (c *cork) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing, c.retired = true, true
	if c.buf != nil {
		c.spare.give(c.buf, 4*corkBytes)
		c.buf = nil
	}
}

// take hands the waiting bytes to the goroutine that is sending; nil if there are none, and then that goroutine stops.
func (c *cork) take() *[]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	buf := c.buf
	c.buf, c.busy = nil, buf != nil
	return buf
}

// passAll sends p in pieces, each of which has writeTimeout. The caller holds writing.
func (c *cork) passAll(p []byte) error {
	for len(p) > 0 {
		n, err := c.pass(p[:min(len(p), pieceBytes)])
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// pass sends one piece. The caller holds writing.
func (c *cork) pass(p []byte) (int, error) {
	now := time.Now()
	c.sending.Store(now.UnixNano())
	defer c.sending.Store(0)
	if err := c.SetWriteDeadline(now.Add(writeTimeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if done := time.Now(); err == nil && done.Sub(now) > stallTime {
		c.moved.Store(done.UnixNano())
	}
	return n, err
}

// stalled reports whether a write under way does not get through. A pong would wait behind that write, and the library gives up
// the connection if the pong waits 5 s; either way the client sees no pong meanwhile.
func (c *cork) stalled() bool {
	since := c.sending.Load()
	return since != 0 && time.Since(time.Unix(0, since)) > stallTime
}

// corked is a response whose Hijack returns the cork as the connection.
type corked struct {
	http.ResponseWriter
	cork *cork
}

// Hijack takes the connection over.
func (c *corked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	c.cork.Conn = conn
	if early, _ := rw.Reader.Peek(rw.Reader.Buffered()); c.cork.count != nil && len(early) > 0 { // sent before the client had the answer
		c.cork.count(early)
	}
	rw.Writer.Reset(c.cork)
	return c.cork, rw, nil
}
