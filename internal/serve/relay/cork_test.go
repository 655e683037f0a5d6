package relay_test

import (
	"bytes"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/serve/relay"
)

// stuck is a connection that takes nothing until it is told to.
type stuck struct {
	net.Conn
	begun   chan struct{} // gets one value when the first write has begun
	open    chan struct{}
	largest atomic.Int64
	all     atomic.Int64
}

func (s *stuck) SetWriteDeadline(time.Time) error { return nil }

func (s *stuck) Write(p []byte) (int, error) {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	<-s.open
	s.all.Add(int64(len(p)))
	s.largest.Store(max(s.largest.Load(), int64(len(p))))
	return len(p), nil
}

// TestControlFramesDoNotWait: a control frame does not wait for what is being sent, and goes out after it; a flood of them
// waits before it takes much memory.
func TestControlFramesDoNotWait(t *testing.T) {
	conn := &stuck{begun: make(chan struct{}, 1), open: make(chan struct{})}
	c := relay.NewCork(conn)
	if err := c.Text(make([]byte, 996)); err != nil { // and four of the header
		t.Fatal(err)
	}
	released := make(chan error)
	go func() { released <- c.Release() }()
	<-conn.begun
	if _, err := c.Write(make([]byte, 100)); err != nil { // would never return
		t.Fatal(err)
	}
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		for range 10_000 {
			c.Write(make([]byte, 100))
		}
	}()
	select {
	case <-flooded:
		t.Error("all of a flood was kept")
	case <-time.After(20 * time.Millisecond):
	}
	close(conn.open)
	if err := <-released; err != nil {
		t.Fatal(err)
	}
	<-flooded
	if n := conn.largest.Load(); n > 2*relay.HeldBytes+100 {
		t.Errorf("%d bytes waited", n)
	}
	if n := conn.all.Load(); n != 1100+1_000_000 {
		t.Errorf("%d bytes were sent", n)
	}
}

// TestTextFrames: a text message has the header of its length (RFC 6455, 5.2), and none comes after a close frame.
func TestTextFrames(t *testing.T) {
	for _, c := range []struct {
		size   int
		header []byte
	}{
		{0, []byte{0x81, 0}},
		{125, []byte{0x81, 125}},
		{126, []byte{0x81, 126, 0, 126}},
		{65535, []byte{0x81, 126, 0xff, 0xff}},
		{65536, []byte{0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0}},
	} {
		conn := &taker{}
		k := relay.NewCork(conn)
		text := bytes.Repeat([]byte("x"), c.size)
		for range 2 {
			if err := k.Text(text); err != nil {
				t.Fatal(err)
			}
		}
		if c.size < relay.HeldBytes/2 && len(conn.got) > 0 {
			t.Errorf("%d bytes: something was sent before release", c.size)
		}
		if err := k.Release(); err != nil {
			t.Fatal(err)
		}
		one := append(c.header, text...)
		if !bytes.Equal(conn.got, append(one, one...)) {
			t.Errorf("%d bytes: %d were sent, beginning with %x, want %x", c.size, len(conn.got), conn.got[:len(c.header)], c.header)
		}
		if c.size > relay.HeldBytes/2 {
			continue
		}
		if err := k.Text(text); err != nil {
			t.Fatal(err)
		}
		before := len(conn.got)
		k.Write([]byte{0x8a, 0})
		if len(conn.got) > before {
			t.Error("a pong goes before what waits is released")
		}
		if err := k.Text(text); err != nil {
			t.Errorf("a text after a pong: %v", err)
		}
		k.Write([]byte{0x88, 0})
		if err := k.Text(text); err == nil {
			t.Error("a text followed a close frame")
		}
	}
}

// taker is a connection that takes everything.
type taker struct {
	net.Conn
	got []byte
}

func (c *taker) SetWriteDeadline(time.Time) error { return nil }

func (c *taker) Write(p []byte) (int, error) {
	c.got = append(c.got, p...)
	return len(p), nil
}

// TestALongFrameIsSentInPieces: a client has the time of a frame for each piece of a longer one.
func TestALongFrameIsSentInPieces(t *testing.T) {
	conn := &stuck{begun: make(chan struct{}, 1), open: make(chan struct{})}
	close(conn.open)
	if err := relay.NewCork(conn).Text(make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	if all, largest := conn.all.Load(), conn.largest.Load(); all != 3<<20+10 || largest != 192<<10 {
		t.Errorf("%d bytes, at most %d at a time", all, largest)
	}
}
