package demo

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// weather is a listener whose WebSockets get scripted fates: slow ones, some cut in the middle, some refused.
type weather struct {
	net.Listener
	rate int // bytes a second towards the client; 0 is as fast as can be

	mu    sync.Mutex // guards the fields below
	fates []fate     // of the next WebSockets; later ones get the zero fate
	open  map[*weatherConn]struct{}
}

// fate is what becomes of one WebSocket. With the zero value nothing happens to it.
type fate struct {
	after  int    // bytes until it is cut; 0 is never
	status string // HTTP status with which it is refused; "" is not
}

// expect adds fates of the next WebSockets.
func (w *weather) expect(fates ...fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fates = append(w.fates, fates...)
}

// storm cuts all WebSockets, and gives the next ones these fates.
func (w *weather) storm(next ...fate) {
	w.mu.Lock()
	w.fates = next
	all := w.open
	w.open = nil
	w.mu.Unlock()
	for c := range all {
		_ = c.Conn.Close() // somebody may have closed it already
	}
}

// Accept waits for a connection.
func (w *weather) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &weatherConn{Conn: c, weather: w}, nil
}

// begin notes a WebSocket as open and returns its fate.
func (w *weather) begin(c *weatherConn) (f fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = make(map[*weatherConn]struct{})
	}
	w.open[c] = struct{}{}
	if len(w.fates) > 0 {
		f, w.fates = w.fates[0], w.fates[1:]
	}
	return f
}

func (w *weather) end(c *weatherConn) { w.mu.Lock(); defer w.mu.Unlock(); delete(w.open, c) }

// weatherConn is one connection. The server reads the head of a request before it writes, and writes one thing at a time.
type weatherConn struct {
	net.Conn
	weather *weather
	looked  bool // Read has looked at the head of the first request

	mu   sync.Mutex // guards the fields below
	fate fate
	sent int
}

// Read looks at the head of the first request, and gives a WebSocket its fate. A refused one gets its answer here.
func (c *weatherConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.looked || err != nil {
		return n, err
	}
	c.looked = true
	if !bytes.Contains(bytes.ToLower(b[:n]), []byte("upgrade: websocket")) {
		return n, err
	}
	f := c.weather.begin(c)
	c.mu.Lock()
	c.fate = f
	c.mu.Unlock()
	if f.status == "" {
		return n, nil
	}
	_, err = fmt.Fprintf(c.Conn, "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", f.status)
	if err == nil {
		err = io.EOF
	}
	return 0, err
}

// Write writes as slowly as the rate says, and cuts the connection when its fate says so.
func (c *weatherConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.sent += len(b)
	due := c.fate.after > 0 && c.sent > c.fate.after
	c.mu.Unlock()
	if due {
		return 0, c.Conn.Close()
	}
	if c.weather.rate > 0 {
		<-time.After(time.Duration(len(b)) * time.Second / time.Duration(c.weather.rate))
	}
	return c.Conn.Write(b)
}

// Close closes the connection.
func (c *weatherConn) Close() error {
	c.weather.end(c)
	return c.Conn.Close()
}
