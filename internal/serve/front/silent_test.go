package front_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/serve/front"
)

// dialed hands out connections that a test makes.
type dialed struct{ conns chan net.Conn }

func (d dialed) Accept() (net.Conn, error) {
	c, ok := <-d.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (dialed) Close() error   { return nil }
func (dialed) Addr() net.Addr { return &net.TCPAddr{} }

// from is a connection from an address.
type from struct {
	net.Conn
	addr string
}

func (f from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.addr + ":5000"))
}

// TestSilentConnectionsOfManyAddresses: where all places are taken, the oldest connection of the address that has most gives way, and who has few
// always gets in.
func TestSilentConnectionsOfManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := front.New(front.Config{Rates: front.Rates{Open: 1000, AnyTotal: 40}, Now: time.Now})
		l := dialed{make(chan net.Conn)}
		server := f.Server()
		go func() { _ = server.Serve(f.Listener(l)) }()
		dial := func(addr string) net.Conn {
			near, far := net.Pipe()
			l.conns <- from{far, addr}
			synctest.Wait()
			return near
		}
		open := func(c net.Conn) bool {
			_ = c.SetReadDeadline(time.Now().Add(time.Nanosecond))
			_, err := c.Read(make([]byte, 1))
			return err != nil && err.Error() != "EOF"
		}
		var silent []net.Conn
		for n := range 10 {
			for range 50 {
				silent = append(silent, dial(fmt.Sprintf("198.51.100.%d", n)))
			}
		}
		for n := range 20 {
			c := dial(fmt.Sprintf("203.0.113.%d", n))
			if !open(c) {
				t.Fatalf("newcomer %d has no place", n)
			}
			defer c.Close()
		}
		n := 0
		for _, c := range silent {
			if open(c) {
				n++
			}
			c.Close()
		}
		if n == 0 || n > 40-20 {
			t.Errorf("%d silent connections are left of 40", n)
		}
		close(l.conns)
		_ = server.Shutdown(context.Background())
	})
}
