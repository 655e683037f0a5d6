package relay_test

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"graspd/internal/relay"
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
	c.Hold()
	if _, err := c.Write(make([]byte, 1000)); err != nil {
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
