package relayconn_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/sync/relayconn"
)

// network is an internet in memory: names that resolve, addresses at which a function answers each connection in a goroutine of its own.
// What is not in hosts swallows the attempt until its context ends.
type network struct {
	names map[string][]string
	hosts map[string]func(net.Conn)

	serving sync.WaitGroup
	mu      sync.Mutex
	dialed  []string
}

func (n *network) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, s := range n.names[host] {
		out = append(out, netip.MustParseAddr(s))
	}
	if out == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return out, nil
}

func (n *network) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, addr)
	n.mu.Unlock()
	serve := n.hosts[addr]
	if serve == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	near, far := pipe()
	n.serving.Go(func() { serve(far) })
	return near, nil
}

func (n *network) attempts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.dialed...)
}

func (n *network) config() relayconn.Config {
	return relayconn.Config{Net: publicnet.Config{Lookup: n.lookup, DialContext: n.dial}}
}

// one is a network with a single host, relay.example, at 1.1.1.1:443 and :80. The test ends when all that it serves has ended, so a
// connection that stays open is a deadlock.
func one(t *testing.T, serve func(net.Conn)) *network {
	t.Helper()
	n := &network{
		names: map[string][]string{"relay.example": {"1.1.1.1"}},
		hosts: map[string]func(net.Conn){"1.1.1.1:80": serve, "1.1.1.1:443": serve},
	}
	t.Cleanup(n.serving.Wait)
	return n
}

// pipe is a pair of connections with 64 KiB of buffer each way, in which a read or write blocks so that synctest sees it.
func pipe() (net.Conn, net.Conn) {
	a, b := newHalf(), newHalf()
	return &end{in: a, out: b}, &end{in: b, out: a}
}

type end struct{ in, out *half }

func (e *end) Read(p []byte) (int, error)  { return e.in.read(p) }
func (e *end) Write(p []byte) (int, error) { return e.out.write(p) }
func (e *end) Close() error {
	e.in.close()
	e.out.close()
	return nil
}
func (e *end) LocalAddr() net.Addr  { return &net.TCPAddr{} }
func (e *end) RemoteAddr() net.Addr { return &net.TCPAddr{} }
func (e *end) SetDeadline(t time.Time) error {
	return errors.Join(e.SetReadDeadline(t), e.SetWriteDeadline(t))
}
func (e *end) SetReadDeadline(t time.Time) error  { e.in.setDeadline(&e.in.readBy, t); return nil }
func (e *end) SetWriteDeadline(t time.Time) error { e.out.setDeadline(&e.out.writeBy, t); return nil }

// half is one direction of a pipe. Closing either end closes it; what was written before can still be read.
type half struct {
	mu              sync.Mutex
	cond            *sync.Cond
	buf             bytes.Buffer
	closed          bool
	readBy, writeBy time.Time
}

func newHalf() *half {
	h := &half{}
	h.cond = sync.NewCond(&h.mu)
	return h
}

func (h *half) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cond.Broadcast()
}

func (h *half) setDeadline(field *time.Time, t time.Time) {
	h.mu.Lock()
	*field = t
	h.mu.Unlock()
	h.cond.Broadcast()
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), h.cond.Broadcast)
	}
}

func passed(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.cond.Broadcast()
	for {
		switch {
		case passed(h.readBy):
			return 0, os.ErrDeadlineExceeded
		case h.buf.Len() > 0:
			return h.buf.Read(p)
		case h.closed:
			return 0, io.EOF
		}
		h.cond.Wait()
	}
}

func (h *half) write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	done := 0
	for {
		switch room := 64<<10 - h.buf.Len(); {
		case h.closed:
			return done, net.ErrClosed
		case passed(h.writeBy):
			return done, os.ErrDeadlineExceeded
		case len(p) == 0:
			return done, nil
		case room > 0:
			n := min(room, len(p))
			h.buf.Write(p[:n])
			p, done = p[n:], done+n
			h.cond.Broadcast()
		default:
			h.cond.Wait()
		}
	}
}

func TestPipeBuffersAndEnds(t *testing.T) {
	a, b := pipe()
	if n, err := a.Write(make([]byte, 64<<10)); n != 64<<10 || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	if err := a.SetWriteDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a write into a full pipe: %v", err)
	}
	a.Close()
	if got, err := io.ReadAll(b); len(got) != 64<<10 || err != nil {
		t.Errorf("read %d, %v", len(got), err)
	}
	if _, err := b.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write into a closed pipe: %v", err)
	}
}
