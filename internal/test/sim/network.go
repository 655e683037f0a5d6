package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/test/testkit/pipe"
)

// hostAddr is the address that every host seems to have.
const hostAddr = "192.0.2.1:80"

// Network connects hosts by name over pipes. Whatever they send arrives in order, after a time that depends only on the seed and on what was sent
// before on the same connection. Hardly ever do two things arrive at the same time.
type Network struct {
	Latency time.Duration // bounds the time on the way, but for a jitter of 5 ms; the shortest is 1 ms
	seed    uint64

	mu    sync.Mutex // guards the fields below
	hosts map[string]*Host
	dials map[string]int // dials so far, by pair of hosts
}

// NewNetwork returns a network without hosts.
func NewNetwork(seed uint64) *Network {
	return &Network{Latency: 60 * time.Millisecond, seed: seed, hosts: make(map[string]*Host), dials: make(map[string]int)}
}

// Host is a place in the network that accepts connections.
type Host struct {
	name string

	mu       sync.Mutex // guards the fields below
	fault    Fault
	listener *listener
	links    []*pipe.Conn // its own ends of open connections
}

// Fault is what happens to those who connect to a host.
type Fault int

// The faults of a host.
const (
	Fine       Fault = iota
	Refuses          // it refuses new connections
	Swallows         // new connections hang: nothing ever comes back
	Unresolved       // nobody knows its name
)

// Host returns the host with a name, and makes it where there is none.
func (n *Network) Host(name string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts[name] == nil {
		n.hosts[name] = &Host{name: name}
	}
	return n.hosts[name]
}

// Set changes what happens to new connections.
func (h *Host) Set(f Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault = f
}

// Listen makes the host answer until the listener is closed.
func (h *Host) Listen() net.Listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listener = &listener{host: h, incoming: make(chan net.Conn), done: make(chan struct{})}
	return h.listener
}

// Cut resets all connections to the host.
func (h *Host) Cut() {
	for _, c := range h.open() {
		c.Reset()
	}
}

// Stall stops, or starts again, the flow of everything to and from the host on the connections that are open.
func (h *Host) Stall(on bool) {
	for _, c := range h.open() {
		c.Stall(on)
	}
}

// Links returns how many connections to the host are open.
func (h *Host) Links() int { return len(h.open()) }

func (h *Host) open() []*pipe.Conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.links)
}

// Dial connects from one host to another. It returns when the other accepts.
func (n *Network) Dial(ctx context.Context, from, to string) (net.Conn, error) {
	h := n.Host(to)
	h.mu.Lock()
	fault, l := h.fault, h.listener
	h.mu.Unlock()
	switch {
	case fault == Unresolved:
		return nil, errors.New("no such host")
	case fault == Swallows:
		<-ctx.Done()
		return nil, ctx.Err()
	case fault == Refuses || l == nil:
		return nil, errors.New("connection refused")
	}
	client, server := n.link(h, from, to)
	select {
	case l.incoming <- server:
		return client, nil
	case <-l.done:
		client.Reset()
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		client.Reset()
		return nil, ctx.Err()
	}
}

// link makes both ends of a connection.
func (n *Network) link(h *Host, from, to string) (client, server *pipe.Conn) {
	n.mu.Lock()
	pair := from + ">" + to
	n.dials[pair]++
	k := n.dials[pair]
	n.mu.Unlock()
	up, down := n.Delay(fmt.Sprint(pair, k, "up")), n.Delay(fmt.Sprint(pair, k, "down"))
	// Clients of one graspd share an address, as those behind one router do.
	client, server = pipe.New(fmt.Sprintf("198.51.100.7:%d", 1024+k%60_000), hostAddr, up, down)
	client.OnClose(server, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.links = slices.DeleteFunc(h.links, func(c *pipe.Conn) bool { return c == server })
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.links = append(h.links, server)
	return client, server
}

// Delay returns the function that draws the time on the way, for one direction of one connection by its name.
func (n *Network) Delay(name string) func() time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	r := rand.New(rand.NewPCG(n.seed, h.Sum64()))
	base := time.Millisecond + time.Duration(r.Int64N(int64(n.Latency)))
	return func() time.Duration { return base + time.Duration(r.Int64N(int64(5*time.Millisecond))) }
}

// listener hands connections to a server.
type listener struct {
	host     *Host
	incoming chan net.Conn
	done     chan struct{}
	once     sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.done)
		l.host.mu.Lock()
		defer l.host.mu.Unlock()
		if l.host.listener == l {
			l.host.listener = nil
		}
	})
	return nil
}

func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(hostAddr)) }

// hostOf returns an address without its port.
func hostOf(address string) string {
	host, _, ok := strings.Cut(address, ":")
	if !ok {
		return address
	}
	return host
}
