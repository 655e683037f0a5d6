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
	maxAddresses   = 8               // addresses of one name that connectTCP tries, in the resolver's order
	minAddressTime = 2 * time.Second // the least time for one address while others wait for their turn
)

// Connect opens the connection for one request: TCP to a checked address, then TLS where the URL says so. conn is the connection for HTTP,
// and raw the connection underneath; closing raw ends everything at once.
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

// connectTCP tries the addresses of the host one after the other. It dials checked addresses only, never a name, which could resolve to
// another address a moment later.
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

// connectOne tries one address, for its share of the time that is left for all, so that an address that never answers does not use up the
// time.
func (n *Net) connectOne(ctx context.Context, addr string, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		share := max(time.Until(deadline)/time.Duration(left), minAddressTime)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, share)
		defer cancel()
	}
	return n.cfg.DialContext(ctx, "tcp", addr)
}

// addresses returns the addresses that connectTCP may dial for a target, as host:port.
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
