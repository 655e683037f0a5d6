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

// What a connection may take before somebody takes it over, and HTTP requests of a connection that nobody does.
const (
	headerTimeout  = 10 * time.Second // for the head of a request, from the first byte of the connection on
	requestTimeout = 20 * time.Second // for all of a request
	answerTimeout  = 20 * time.Second // for its answer
	keepTimeout    = time.Minute      // between two requests on one connection
	headerBytes    = 16 << 10
	spareRaw       = 100 // connections of one address beyond those that are taken over, so that it can be told that it has too many
)

// Server is an HTTP server for the Handler, with time limits for everything whose route sets no other ones. Give it a Listener.
func (f *Front) Server() *http.Server {
	return &http.Server{
		Handler: f.Handler(), ErrorLog: f.serverLog(),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: answerTimeout, IdleTimeout: keepTimeout,
		MaxHeaderBytes: headerBytes,
	}
}

// serverLog takes what the server has to say about connections, which is no matter for an operator.
func (f *Front) serverLog() *log.Logger {
	return slog.NewLogLogger(f.logger.Handler(), slog.LevelDebug)
}

// Listener accepts connections from l, and closes at once what comes from an address that has as many as it may, whatever
// they do. Trusted proxies and the operator's own machine are not limited.
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

// guardedConn gives its place back when it is closed.
type guardedConn struct {
	net.Conn
	left func()
}

// SyscallConn gives what is under the connection, where there is something.
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
