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

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Conn is one open connection. One goroutine calls Read; any number of goroutines may call the other methods, also during a Read. A Conn
// answers pings of the relay, and sees pongs, only while a Read is under way. Whoever is done with a Conn must call Close.
type Conn struct {
	ws      *websocket.Conn
	raw     net.Conn // the connection under ws and TLS; closing it ends every wait at once
	url     grasp.RelayURL
	cfg     *Config
	leave   sync.Once
	gone    chan struct{} // closed when this side has ended the connection
	why     error         // why this side has ended the connection, where the relay is at fault; nil until gone is closed
	large   chan struct{} // a token for each message that may be as long as ReadLimit
	room    *hold         // this connection's part of the memory for messages
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

// SetParty says to which party the messages belong from the next one on. The messages of one party together get a share of the memory. An
// empty party, as at first, stands for the relay alone.
func (c *Conn) SetParty(party string) {
	if party == "" {
		party = string(c.url)
	}
	c.room.setParty(party)
}

// Read returns the next text message, which is valid until the next Read. ErrBinary and ErrTooLong stand for a message that Read drops, and
// the connection lives on. Any other error ends the connection: *ClosedError where the relay said goodbye, ErrFlood, and the end of ctx.
func (c *Conn) Read(ctx context.Context) ([]byte, error) {
	c.drop()
	b, err := c.readMessage(ctx)
	if err == nil || err == ErrBinary || err == ErrTooLong {
		return b, err
	}
	c.drop()
	if errors.Is(err, ErrFlood) {
		return nil, publicnet.Error{Op: "read", Err: ErrFlood}
	}
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

// next waits for the next message. The library fails when a pong waits 5 s for a Write under way. That is no fault of the connection, so
// next goes on; if the connection has ended, the next attempt fails at once.
func (c *Conn) next(ctx context.Context) (websocket.MessageType, io.Reader, error) {
	for {
		kind, r, err := c.ws.Reader(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return kind, r, err
		}
	}
}

// Write sends one text message. After WriteTimeout, or at the end of ctx, it closes the connection: half a frame cannot be taken back.
func (c *Conn) Write(ctx context.Context, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.WriteTimeout)
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageText, b); err != nil {
		return remote(ctx, "write", err)
	}
	return nil
}

// Ping sends a ping and waits for the answer, which only a Read in another goroutine can see. It fails at the end of ctx; without an answer
// the connection stays open.
func (c *Conn) Ping(ctx context.Context) error {
	if err := c.ws.Ping(ctx); err != nil {
		return remote(ctx, "ping", err)
	}
	return nil
}

// Close says goodbye with the reason, cut at 123 bytes, waits at most CloseTimeout for the answer, and ends every Read, Write and Ping.
// The connection is closed whatever Close returns: nil after a proper goodbye, and for a connection that was closed before.
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

// closeReason makes s fit into a close frame, which must be UTF-8 (RFC 6455, 5.5 and 5.5.1).
func closeReason(s string) string {
	s, _ = safetext.Cut(strings.ToValidUTF8(s, "?"), 123)
	return s
}
