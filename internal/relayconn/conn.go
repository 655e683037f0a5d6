package relayconn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"graspd/internal/grasp"
)

// Conn is one open connection. Read belongs to one goroutine; the other methods may be called by any number of them, also during a
// Read. Pings of the remote side are answered, and pongs seen, only while a Read is under way. Close must be called once it is done with.
type Conn struct {
	ws           *websocket.Conn
	raw          net.Conn // under ws and TLS; closing it ends every wait at once
	url          grasp.RelayURL
	writeTimeout time.Duration
	closeTimeout time.Duration
	scratch      bytes.Buffer // Read collects a message here; owned by its goroutine
}

// maxScratch is what a connection keeps between two messages. Bytes.
const maxScratch = 64 << 10

// Read returns the next text message, which is valid until the next Read. A binary one is ErrBinary, and the connection lives on; any other error
// ends it: *ClosedError where the relay said goodbye. So does the end of ctx.
func (c *Conn) Read(ctx context.Context) ([]byte, error) {
	if c.scratch.Cap() > maxScratch {
		c.scratch = bytes.Buffer{}
	}
	kind, r, err := c.next(ctx)
	if err != nil {
		return nil, remote(ctx, "read", err)
	}
	if kind != websocket.MessageText {
		if _, err := io.Copy(io.Discard, r); err != nil {
			return nil, remote(ctx, "read", err)
		}
		return nil, ErrBinary
	}
	c.scratch.Reset()
	if _, err := c.scratch.ReadFrom(r); err != nil {
		return nil, remote(ctx, "read", err)
	}
	return c.scratch.Bytes(), nil
}

// next waits for the next message. The library gives up on a pong that waits 5 s for a Write under way, which is no fault of the
// connection, so next goes on; where the connection has ended, going on shows it at once.
func (c *Conn) next(ctx context.Context) (websocket.MessageType, io.Reader, error) {
	for {
		kind, r, err := c.ws.Reader(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return kind, r, err
		}
	}
}

// Write sends one text message. After WriteTimeout, or at the end of ctx, the connection is closed: half a frame cannot be taken back.
func (c *Conn) Write(ctx context.Context, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.writeTimeout)
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageText, b); err != nil {
		return remote(ctx, "write", err)
	}
	return nil
}

// Ping returns when the relay answered it, which only a Read in another goroutine can see, or at the end of ctx. An answer that does
// not come leaves the connection open.
func (c *Conn) Ping(ctx context.Context) error {
	if err := c.ws.Ping(ctx); err != nil {
		return remote(ctx, "ping", err)
	}
	return nil
}

// Close says goodbye with the reason, cut at 123 bytes, waits at most CloseTimeout for the answer, and ends every Read, Write and Ping.
// The connection is closed whatever it returns: nil after a proper goodbye and for one that was closed before.
func (c *Conn) Close(reason string) error {
	hurry := time.AfterFunc(c.closeTimeout, func() { c.raw.Close() })
	defer hurry.Stop()
	err := c.ws.Close(websocket.StatusNormalClosure, closeReason(reason))
	if err == nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return remote(context.Background(), "close", err)
}

// closeReason gives what fits into a close frame, which must be UTF-8 (RFC 6455, 5.5 and 5.5.1).
func closeReason(s string) string {
	const most = 123
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
