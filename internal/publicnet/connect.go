package publicnet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

const (
	maxAddresses   = 8               // of one name, tried in the resolver's order
	minAddressTime = 2 * time.Second // for one address while others wait for their turn
)

// Connect opens the connection for one request: TCP to a checked address, then TLS where the URL says so. The first result is what
// HTTP is spoken over, the second the connection underneath; closing that one ends everything at once.
func (n *Net) Connect(ctx context.Context, t Target) (conn, raw net.Conn, err error) {
	raw, err = n.connectTCP(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	if t.URL.Scheme != "https" {
		return raw, raw, nil
	}
	c := tls.Client(raw, &tls.Config{ServerName: t.host, RootCAs: n.cfg.RootCAs, MinVersion: tls.VersionTLS12})
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, nil, Error{"TLS handshake", err}
	}
	return c, raw, nil
}

// connectTCP tries the addresses of the host one after the other. Only checked addresses are dialed, never a name that could resolve
// to something else a moment later.
func (n *Net) connectTCP(ctx context.Context, t Target) (net.Conn, error) {
	addrs, err := n.addresses(ctx, t)
	if err != nil {
		return nil, err
	}
	var first error
	for i, addr := range addrs {
		c, err := n.connectOne(ctx, addr, len(addrs)-i)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, Error{"connect", first}
}

// connectOne gives an address its share of the time that is left for all of them, so that a black hole does not use it up.
func (n *Net) connectOne(ctx context.Context, addr string, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		share := max(time.Until(deadline)/time.Duration(left), minAddressTime)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, share)
		defer cancel()
	}
	return n.cfg.DialContext(ctx, "tcp", addr)
}

// addresses gives what may be dialed for a target, as host:port.
func (n *Net) addresses(ctx context.Context, t Target) ([]string, error) {
	if t.addr.IsValid() && !t.exempt && n.own.has(ctx, t.addr, t.port) {
		return nil, ownAddress(t.addr)
	}
	if t.addr.IsValid() || n.cfg.Lookup == nil {
		return []string{net.JoinHostPort(t.host, t.port)}, nil
	}
	found, err := n.cfg.Lookup(ctx, t.host)
	if err != nil {
		return nil, Error{"resolve", err}
	}
	var out []string
	var refused error
	for _, a := range found {
		a = a.Unmap() // some resolvers give every IPv4 address in IPv6 form
		switch {
		case len(out) == maxAddresses:
		case !t.exempt && !Public(a):
			refused = fmt.Errorf("%w: %s, as %s resolves, is not public", ErrForbidden, a, t.host)
		case !t.exempt && n.own.has(ctx, a, t.port):
			refused = ownAddress(a)
		default:
			out = append(out, netAddress(a, t.port))
		}
	}
	if len(out) == 0 && refused != nil {
		return nil, refused
	}
	if len(out) == 0 {
		return nil, errors.New("resolve: no address")
	}
	return out, nil
}

func netAddress(a netip.Addr, port string) string { return net.JoinHostPort(a.String(), port) }
