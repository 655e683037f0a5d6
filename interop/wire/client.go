// Package wire is the client that the load and the benchmarks speak through: frames as they are, without subscriptions.
package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// longest is how many bytes of a frame are read.
const longest = 64 << 20

// Client is one connection to a relay.
type Client struct{ ws *websocket.Conn }

// Dial connects within a minute.
func Dial(ctx context.Context, url string) (*Client, error) {
	return dial(ctx, url, nil)
}

// DialFrom connects within a minute, from that address of this machine.
func DialFrom(ctx context.Context, url string, from netip.Addr) (*Client, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	return dial(ctx, url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: d.DialContext}}})
}

// DialTrusting connects within a minute to a relay whose certificate one of those authorities has signed.
func DialTrusting(ctx context.Context, url string, authorities *x509.CertPool) (*Client, error) {
	return dial(ctx, url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}}}})
}

func dial(ctx context.Context, url string, o *websocket.DialOptions) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, url, o)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(longest)
	return &Client{ws}, nil
}

// Send writes a frame.
func (c *Client) Send(ctx context.Context, frame []byte) error {
	return c.ws.Write(ctx, websocket.MessageText, frame)
}

// Frame reads the next frame.
func (c *Client) Frame(ctx context.Context) ([]byte, error) {
	_, b, err := c.ws.Read(ctx)
	return b, err
}

// Receive reads the next message that is no challenge (NIP-42).
func (c *Client) Receive(ctx context.Context) (nostr.RelayMessage, error) {
	for {
		b, err := c.Frame(ctx)
		if err != nil {
			return nil, err
		}
		m, err := nostr.ParseRelay(b)
		if err != nil {
			return nil, fmt.Errorf("%.200s: %w", b, err)
		}
		if _, challenge := m.(nostr.AuthChallenge); !challenge {
			return m, nil
		}
	}
}

// CloseNow ends the connection without a farewell.
func (c *Client) CloseNow() { _ = c.ws.CloseNow() }
