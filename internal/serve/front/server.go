package front

import (
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"
)

// Bounds of connections for as long as no route has taken them over.
const (
	headerTimeout  = 10 * time.Second // for the head of a request, from accepting the connection, or from the first bytes of a later request on
	requestTimeout = 20 * time.Second // for all of a request
	answerTimeout  = 20 * time.Second // for the answer to a request
	keepTimeout    = time.Minute      // between two requests on one connection
	headerBytes    = 16 << 10
	spareRaw       = 100 // connections of one address beyond Rates.Open, so that the front can tell a client that there are too many
)

// Server returns an HTTP server for the Handler. Its time limits hold where a route sets no others. Serve a Listener with it.
func (f *Front) Server() *http.Server {
	return &http.Server{
		Handler: f.Handler(), ErrorLog: f.serverLog(),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: answerTimeout, IdleTimeout: keepTimeout,
		MaxHeaderBytes: headerBytes,
	}
}

// serverLog returns a logger for what net/http says about connections. It logs at debug level, as an operator can do nothing about it.
func (f *Front) serverLog() *log.Logger {
	return slog.NewLogLogger(f.logger.Handler(), slog.LevelDebug)
}

// Listener returns a listener that accepts connections from l. It closes a connection at once if the client's address has as many
// connections of any kind as it may have. Where there are as many as there may be in all, the oldest of the address that has most gives way. The
// listener does not limit trusted proxies and the operator's own machine.
func (f *Front) Listener(l net.Listener) net.Listener { return &guard{Listener: l, front: f} }

type guard struct {
	net.Listener
	front *Front
}

// Accept waits for a connection that may stay.
func (g *guard) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		addr := parseAddr(c.RemoteAddr().String())
		if g.front.trusted(addr) {
			return c, nil
		}
		grant, left, ok := g.front.visitors.connect(addr)
		if !ok {
			c.Close()
			continue
		}
		guarded := &guardedConn{Conn: c, left: left}
		if grant != nil {
			grant.Revocable(func() { guarded.Close() })
		}
		return guarded, nil
	}
}

// guardedConn is a connection that counts for its address until it is closed.
type guardedConn struct {
	net.Conn
	left func()
}

// SyscallConn returns the raw connection, by which package relay sees that a client has hung up. It fails where the transport has none.
func (c *guardedConn) SyscallConn() (syscall.RawConn, error) {
	if under, ok := c.Conn.(syscall.Conn); ok {
		return under.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Close closes the connection. Callers may call it more than once.
func (c *guardedConn) Close() error {
	defer c.left()
	return c.Conn.Close()
}
