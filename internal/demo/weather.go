package demo

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// weather is a listener whose WebSockets fare as was scripted: slow ones, some cut in the middle, some refused.
type weather struct {
	net.Listener
	rate int // bytes a second towards the client; 0 = as fast as it goes

	mu    sync.Mutex // guards the rest
	fates []fate     // of the next WebSockets; after them all is well
	open  map[*weatherConn]struct{}
}

// fate is what becomes of one WebSocket. The zero value is a good one.
type fate struct {
	after  int    // bytes until it is cut
	status string // HTTP status with which it is refused
}

// expect adds fates of the next WebSockets.
func (w *weather) expect(fates ...fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fates = append(w.fates, fates...)
}

// storm cuts all connections, and has the next ones fare like this.
func (w *weather) storm(next ...fate) {
	w.mu.Lock()
	w.fates = next
	all := w.open
	w.open = nil
	w.mu.Unlock()
	for c := range all {
		_ = c.Conn.Close() // it may be closed already
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

// begin gives a WebSocket its fate.
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

// weatherConn is one connection. Its first read and its writes come one after another.
type weatherConn struct {
	net.Conn
	weather *weather
	looked  bool // at the head of its request

	mu   sync.Mutex // guards the rest
	fate fate
	sent int
}

// Read looks at the head of the first request: a WebSocket gets its fate.
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

// Write takes its time, and cuts the connection when it is due.
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
