package relayconn

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/publicnet"
	"github.com/graspd/graspd/internal/words"
)

// Conn is one open connection. Read belongs to one goroutine; the other methods may be called by any number of them, also during a
// Read. Pings of the remote side are answered, and pongs seen, only while a Read is under way. Close must be called once it is done with.
type Conn struct {
	ws      *websocket.Conn
	raw     net.Conn // under ws and TLS; closing it ends every wait at once
	url     grasp.RelayURL
	cfg     *Config
	leave   sync.Once
	gone    chan struct{} // closed when this side has ended the connection
	why     error         // of that, where it is a fault of the relay; nil until gone is closed
	large   chan struct{} // a token for each message that may be as long as ReadLimit
	room    *hold         // of the memory for messages
	scratch []byte        // Read collects a message here; owned by its goroutine
	pace    *pace         // Read's
}

func (d *Dialer) newConn(ws *websocket.Conn, raw net.Conn, u grasp.RelayURL) *Conn {
	c := &Conn{ws: ws, raw: raw, url: u, cfg: &d.cfg}
	c.gone, c.large = make(chan struct{}), make(chan struct{}, maxLarge)
	c.room = &hold{of: d.memory, end: c.abandon, gone: c.gone}
	c.pace = newPace(d.cfg.PartTime, c.abandon)
	c.SetParty("")
	ws.SetReadLimit(int64(c.cfg.ReadLimit))
	return c
}

// abandon ends the connection at once, for something that the relay did.
func (c *Conn) abandon(why error) {
	c.leave.Do(func() {
		c.why = why
		close(c.gone)
		c.raw.Close()
	})
}

// SetParty says which party the messages belong to from the next one on. The messages of one party have a share of the memory together.
// Empty, as at first, is the relay's own.
func (c *Conn) SetParty(party string) {
	if party == "" {
		party = string(c.url)
	}
	c.room.setParty(party)
}

// Read returns the next text message, which is valid until the next Read. ErrBinary and ErrTooLong stand for one that is not
// given, and the connection lives on; any other error ends it: *ClosedError where the relay said goodbye. So does the end of ctx.
func (c *Conn) Read(ctx context.Context) ([]byte, error) {
	c.drop()
	b, err := c.readMessage(ctx)
	if err == nil || err == ErrBinary || err == ErrTooLong {
		return b, err
	}
	c.drop()
	select {
	case <-c.gone:
		if c.why != nil && ctx.Err() == nil {
			return nil, publicnet.Error{Op: "read", Err: c.why}
		}
	default:
	}
	return nil, remote(ctx, "read", err)
}

func (c *Conn) readMessage(ctx context.Context) ([]byte, error) {
	kind, r, err := c.next(ctx)
	if err != nil {
		return nil, err
	}
	c.pace.begin()
	defer c.pace.stop()
	if kind == websocket.MessageText {
		return c.collect(ctx, r)
	}
	if err := c.discard(r); err != nil {
		return nil, err
	}
	return nil, ErrBinary
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
	ctx, cancel := context.WithTimeout(ctx, c.cfg.WriteTimeout)
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
	defer c.room.close()
	c.leave.Do(func() { close(c.gone) })
	hurry := time.AfterFunc(c.cfg.CloseTimeout, func() { c.raw.Close() })
	defer hurry.Stop()
	err := c.ws.Close(websocket.StatusNormalClosure, closeReason(reason))
	if err == nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return remote(context.Background(), "close", err)
}

// closeReason gives what fits into a close frame, which must be UTF-8 (RFC 6455, 5.5 and 5.5.1).
func closeReason(s string) string {
	s, _ = words.Cut(strings.ToValidUTF8(s, "?"), 123)
	return s
}
