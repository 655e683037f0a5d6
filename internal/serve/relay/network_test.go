package relay_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/graspd/graspd/internal/test/testkit/pipe"
)

// network connects clients to one server in memory, so that it works in a synctest bubble.
type network struct {
	incoming chan net.Conn
	closed   chan struct{}
	once     sync.Once
	writes   atomic.Int64 // of the server, on all connections
}

// counted is the server's end of a connection.
type counted struct {
	net.Conn
	writes *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

func newNetwork() *network {
	return &network{incoming: make(chan net.Conn), closed: make(chan struct{})}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.incoming:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

const serverAddr = "192.0.2.1:80"

func (n *network) Addr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(serverAddr))
}

// dial connects from an address such as "198.51.100.7:5000".
func (n *network) dial(ctx context.Context, from string) (net.Conn, error) {
	client, server := pipe.New(from, serverAddr, nil, nil)
	select {
	case n.incoming <- counted{server, &n.writes}:
		return client, nil
	case <-n.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
