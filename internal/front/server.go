package front

import (
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// Bounds of connections for as long as no route has taken them over.
const (
	headerTimeout  = 10 * time.Second // for the head of a request, from accepting the connection or the first bytes of a later request on
	requestTimeout = 20 * time.Second // for all of a request
	answerTimeout  = 20 * time.Second // for its answer
	keepTimeout    = time.Minute      // between two requests on one connection
	headerBytes    = 16 << 10
	spareRaw       = 100 // connections of one address beyond Rates.Open, so that a client can be told that there are too many
)

// Server is an HTTP server for the Handler, with time limits for everything whose route sets no other ones. Give it a Listener.
func (f *Front) Server() *http.Server {
	return &http.Server{
		Handler: f.Handler(), ErrorLog: f.serverLog(),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: answerTimeout, IdleTimeout: keepTimeout,
		MaxHeaderBytes: headerBytes,
	}
}

// serverLog logs what net/http says about connections at debug level, as an operator can do nothing about it.
func (f *Front) serverLog() *log.Logger {
	return slog.NewLogLogger(f.logger.Handler(), slog.LevelDebug)
}

// Listener accepts connections from l, and closes at once those from an address that has as many as it may, of any kind. Trusted proxies
// and the operator's own machine are not limited.
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
		one, ok := g.front.visitors.connect(addr)
		if !ok {
			c.Close()
			continue
		}
		return &guardedConn{Conn: c, left: sync.OnceFunc(func() { g.front.visitors.disconnect(one) })}, nil
	}
}

// guardedConn counts for its address until it is closed.
type guardedConn struct {
	net.Conn
	left func()
}

// SyscallConn gives the raw connection, by which package relay sees that a client has hung up. It fails where the transport has none.
func (c *guardedConn) SyscallConn() (syscall.RawConn, error) {
	if under, ok := c.Conn.(syscall.Conn); ok {
		return under.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Close closes the connection; it may be called more than once.
func (c *guardedConn) Close() error {
	defer c.left()
	return c.Conn.Close()
}
