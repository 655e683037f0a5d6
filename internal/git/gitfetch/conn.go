package gitfetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"time"
)

// maxHeader bounds an answer up to the end of its header, interim (1xx) answers before it included. Bytes.
const maxHeader = 32 << 10

// conn is an open connection for one request after the other: no proxy, no pool, no decompression, no background reader.
type conn struct {
	raw    net.Conn // under TLS; closing it ends every wait at once
	wire   *wire
	header *io.LimitedReader
	buf    *bufio.Reader
	stop   func() bool // ends what waits for the context
}

func newConn(c, raw net.Conn, stop func() bool, bounds *Bounds, came func(int)) *conn {
	w := &wire{Conn: c, bounds: bounds, came: came}
	h := &io.LimitedReader{R: w}
	return &conn{raw: raw, wire: w, header: h, buf: bufio.NewReaderSize(h, 64<<10), stop: stop}
}

func (c *conn) close() {
	c.stop()
	c.raw.Close()
}

// idleEnd reports whether the other side ended the connection before it answered at all, as it may do between requests.
func (c *conn) idleEnd() bool { return !c.wire.begun && !errors.Is(c.wire.err, ErrSilent) }

// exchange sends a request and reads the header of its answer. The caller reads the body to its end or closes the connection; the
// body's own Close would read on without a bound.
func (c *conn) exchange(req *http.Request, within time.Duration) (*http.Response, error) {
	c.wire.begin()
	if err := c.wire.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return nil, c.lose(err)
	}
	sent := req.Write(c.wire)
	if c.wire.unsent != nil {
		sent = c.wire.unsent // net/http hides it
	}
	if errors.Is(sent, os.ErrDeadlineExceeded) {
		return nil, c.lose(fmt.Errorf("%w: nothing was taken for %v", ErrSilent, within))
	}
	// A server may answer before it has read a request that it refuses, so an error of writing is not the last word.
	c.header.N = maxHeader
	for {
		resp, err := http.ReadResponse(c.buf, req)
		switch {
		case err != nil && sent != nil:
			return nil, c.lose(sent)
		case err != nil && c.header.N <= 0:
			return nil, protocol("the header of the answer is too long")
		case err != nil:
			return nil, err
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, protocol("the server changes to another protocol")
		case resp.StatusCode >= http.StatusOK:
			c.header.N = math.MaxInt64
			resp.Close = resp.Close || sent != nil
			return resp, nil
		}
	}
}

// lose notes an error of writing: the connection is of no use any more.
func (c *conn) lose(err error) error {
	if c.wire.err == nil || c.wire.err == io.EOF {
		c.wire.err = err
	}
	return err
}
