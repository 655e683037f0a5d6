// Package doctor looks at a relay from outside, as its users do. It says for each thing whether it is well, and what to do where it is not.
// It asks nothing of the relay that a client could not ask. Read Examine.
package doctor

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Level is how bad a finding is.
type Level uint8

// The levels.
const (
	Fine Level = iota
	Skipped
	Warning
	Fault
)

func (l Level) String() string { return [...]string{"ok", "skip", "warn", "FAIL"}[l] }

// Finding is the result of one look.
type Finding struct {
	What  string // what was looked at, in a word or two
	Level Level
	Text  string // one line
	Mend  string // lines that say what to do, or that can be pasted; "" where there is nothing to do
}

// Config has what an examination needs.
type Config struct {
	// URL is where clients reach the relay: https://, wss://, http:// or ws:// and a host, or a host alone.
	URL string
	// Domain is the --domain of the relay; the zero value means that it is not known.
	Domain grasp.Service
	// Git says that the relay hosts repositories.
	Git bool
	// Publish lets the examination publish a test announcement, which it withdraws at once.
	Publish bool

	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS is a base for connections; nil takes the system's roots.
	TLS *tls.Config
	Now func() time.Time
	// Key signs the test announcement.
	Key nostr.SecretKey
}

// Times of an examination.
const (
	eachLook = 15 * time.Second    // for one look
	soon     = 14 * 24 * time.Hour // for a certificate to expire
)

// examination is an examination that is under way.
type examination struct {
	Config
	at      *url.URL
	service grasp.Service // the name of the URL in announcements
	local   netip.Addr    // this machine's address of the last connection
	client  *http.Client
	told    func(Finding)
	hosts   bool // the relay says that it hosts repositories
	limited bool // the relay says that it is restricted
	private bool // the relay says that it is for members alone (GRASP-08)
}

// Examine looks at the relay, calls told with each finding as soon as there is one, and returns the worst level. It stops early where it can
// learn nothing more. It fails where the URL is none of a relay, and where ctx ends.
func Examine(ctx context.Context, c Config, told func(Finding)) (Level, error) {
	at, err := parse(c.URL)
	if err != nil {
		return Fault, err
	}
	service, err := grasp.ParseService(at.Host + strings.TrimRight(at.Path, "/"))
	if err != nil {
		return Fault, fmt.Errorf("%q: %w", c.URL, err)
	}
	worst := Fine
	x := &examination{Config: c, at: at, service: service, told: func(f Finding) {
		worst = max(worst, f.Level)
		told(f)
	}}
	x.client = x.newClient()
	defer x.client.CloseIdleConnections()
	for _, look := range []func(context.Context) bool{x.name, x.connection, x.document, x.domain, x.address, x.websocket, x.gitRefs, x.gitBodies, x.announcement} {
		lookCtx, cancel := context.WithTimeout(ctx, eachLook)
		goOn := look(lookCtx)
		cancel()
		if err := ctx.Err(); err != nil {
			return worst, err
		}
		if !goOn {
			break
		}
	}
	return worst, nil
}

// parse reads a URL as people type it.
func parse(raw string) (*url.URL, error) {
	if !strings.Contains(raw, "://") {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is no URL of a relay: want one such as https://git.example.org", raw)
	}
	switch u.Scheme {
	case "wss":
		u.Scheme = "https"
	case "ws":
		u.Scheme = "http"
	case "http", "https":
	default:
		return nil, fmt.Errorf("%q: want https, wss, http or ws", raw)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

func (x *examination) say(what string, l Level, text, mend string) {
	x.told(Finding{What: what, Level: l, Text: text, Mend: mend})
}

func (x *examination) fine(what, format string, args ...any) {
	x.say(what, Fine, fmt.Sprintf(format, args...), "")
}

// newClient returns a client that makes requests as anybody would, but follows no redirect.
func (x *examination) newClient() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			TLSClientConfig:       x.tls(),
			ResponseHeaderTimeout: eachLook,
			DialContext:           x.dial,
			ForceAttemptHTTP2:     false,
			DisableCompression:    true,
		},
	}
}

func (x *examination) tls() *tls.Config {
	c := x.TLS.Clone()
	if c == nil {
		c = new(tls.Config)
	}
	c.MinVersion, c.ServerName, c.NextProtos = tls.VersionTLS12, x.at.Hostname(), []string{"http/1.1"}
	return c
}

// dial connects to the first address that answers.
func (x *examination) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := x.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	var last error
	for _, a := range addrs {
		conn, err := x.Dial(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			if l, ok := conn.LocalAddr().(*net.TCPAddr); ok {
				x.local = l.AddrPort().Addr().Unmap()
			}
			return conn, nil
		}
		last = err
	}
	return nil, last
}

// addresses returns the addresses of a host, which may be an address itself.
func (x *examination) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap()}, nil
	}
	addrs, err := x.Resolve(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, err
}
