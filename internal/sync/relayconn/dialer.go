// Package relayconn is the client side of one WebSocket connection to another relay. It dials, under the rule that strangers' URLs lead to
// public addresses only, and then reads and writes frames. Its caller, relaysync, decides when to dial, what to send, what an answer means
// and when to give up.
package relayconn

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Config says how a Dialer makes connections. The zero Config is right for production.
type Config struct {
	Exempt       func(grasp.RelayURL) bool // reports whether the operator typed the URL, so that the address rule does not apply; nil: never
	DialTimeout  time.Duration             // for name lookup, TCP, TLS and handshake together; 0: 10 s
	InfoTimeout  time.Duration             // for a whole Info; 0: 5 s
	WriteTimeout time.Duration             // for one frame; 0: 20 s
	CloseTimeout time.Duration             // for the closing handshake; 0: 2 s
	PartTime     time.Duration             // for 100 KiB of a message; a slower message ends the connection; 0: 20 s
	ReadLimit    int                       // bytes of one message; a longer one ends the connection; 0: 4 MiB
	Memory       int                       // bytes for messages being read, for all connections together, beyond 64 KiB for each; 0: 64 MiB
	UserAgent    string                    // empty: "graspd"

	Net publicnet.Config // how to reach addresses, and the rule that strangers' URLs lead to public addresses only
}

// Dialer makes connections to relays. The connections share its memory for messages. Any number of goroutines may use a Dialer.
type Dialer struct {
	cfg    Config
	memory *memory
	net    *publicnet.Net
}

// New returns a Dialer with the defaults of Config filled in.
func New(cfg Config) *Dialer {
	cfg.DialTimeout = cmp.Or(cfg.DialTimeout, 10*time.Second)
	cfg.InfoTimeout = cmp.Or(cfg.InfoTimeout, 5*time.Second)
	cfg.WriteTimeout = cmp.Or(cfg.WriteTimeout, 20*time.Second)
	cfg.CloseTimeout = cmp.Or(cfg.CloseTimeout, 2*time.Second)
	cfg.PartTime = cmp.Or(cfg.PartTime, 20*time.Second)
	cfg.ReadLimit = cmp.Or(cfg.ReadLimit, 4<<20)
	cfg.Memory = cmp.Or(cfg.Memory, 64<<20)
	cfg.UserAgent = cmp.Or(cfg.UserAgent, "graspd")
	return &Dialer{cfg, newMemory(cfg.Memory), publicnet.New(cfg.Net)}
}

// Dial opens a WebSocket connection within DialTimeout. ctx bounds the dialing only, not the connection. The error does not name u. It wraps
// publicnet.ErrForbidden where the address rule forbids the host, and *HandshakeError where the relay answered with another HTTP status.
func (d *Dialer) Dial(ctx context.Context, u grasp.RelayURL) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.DialTimeout)
	defer cancel()
	return d.handshake(ctx, u)
}

func (d *Dialer) handshake(ctx context.Context, u grasp.RelayURL) (*Conn, error) {
	t, err := d.target(u)
	if err != nil {
		return nil, err
	}
	conn, raw, err := d.net.Connect(ctx, t)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	ws, resp, err := websocket.Dial(ctx, t.URL.String(), &websocket.DialOptions{
		HTTPClient:      exchange{conn}.client(),
		HTTPHeader:      http.Header{"User-Agent": {d.cfg.UserAgent}},
		CompressionMode: websocket.CompressionDisabled,
	})
	switch inTime := stop(); {
	case inTime && err == nil:
		return d.newConn(ws, raw, u), nil
	case err == nil:
		ws.CloseNow()
		return nil, ctx.Err()
	}
	raw.Close()
	if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(resp.Body) // the library has put the first kilobyte of the body into it
		return nil, handshakeError(resp, body)
	}
	return nil, remote(ctx, "WebSocket handshake", err)
}

// target takes a relay's URL apart.
func (d *Dialer) target(u grasp.RelayURL) (publicnet.Target, error) {
	p, err := url.Parse(string(u))
	if err != nil {
		return publicnet.Target{}, errors.New("not a URL")
	}
	switch p.Scheme {
	case "wss":
		p.Scheme = "https"
	case "ws":
		p.Scheme = "http"
	default:
		return publicnet.Target{}, errors.New("the scheme is neither ws nor wss")
	}
	return d.net.Target(p, d.cfg.Exempt != nil && d.cfg.Exempt(u))
}
