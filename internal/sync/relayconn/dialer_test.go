package relayconn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/sync/relayconn"
)

// serve answers one connection with an HTTP server, and returns when the connection and its handler have ended.
func serve(h http.HandlerFunc) func(net.Conn) {
	return func(c net.Conn) {
		l := &single{conn: c, done: make(chan struct{})}
		hijacked := false
		srv := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h(w, r)
				if hijacked {
					l.Close()
				}
			}),
			ConnState: func(_ net.Conn, s http.ConnState) {
				hijacked = s == http.StateHijacked
				if s == http.StateClosed {
					l.Close()
				}
			},
			ErrorLog: log.New(io.Discard, "", 0),
		}
		srv.Serve(l)
	}
}

// single is a listener with one connection.
type single struct {
	conn  net.Conn
	taken bool
	done  chan struct{}
}

func (l *single) Accept() (net.Conn, error) {
	if l.taken {
		<-l.done
		return nil, net.ErrClosed
	}
	l.taken = true
	return l.conn, nil
}
func (l *single) Addr() net.Addr { return &net.TCPAddr{} }
func (l *single) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}

// websocketTo answers with a WebSocket connection that f serves.
func websocketTo(f func(*websocket.Conn)) func(net.Conn) {
	return serve(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		c.SetReadLimit(-1)
		defer c.CloseNow()
		f(c)
	})
}

// echo sends every message back until the end.
func echo(c *websocket.Conn) {
	for {
		kind, b, err := c.Read(context.Background())
		if err != nil {
			return
		}
		if c.Write(context.Background(), kind, b) != nil {
			return
		}
	}
}

func TestDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var header http.Header
		n := one(t, serve(func(w http.ResponseWriter, r *http.Request) {
			header = r.Header
			if r.Host != "relay.example" || r.URL.String() != "/a/b?c=d" {
				t.Errorf("asked %s for %s", r.Host, r.URL)
			}
			c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionContextTakeover})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.CloseNow()
			echo(c)
		}))
		t.Setenv("HTTP_PROXY", "http://9.9.9.9:3128")
		ctx, cancel := context.WithCancel(t.Context())
		c, err := relayconn.New(n.config()).Dial(ctx, "ws://relay.example/a/b?c=d")
		if err != nil {
			t.Fatal(err)
		}
		cancel() // it bounds the dialing only
		time.Sleep(time.Minute)
		if err := c.Write(t.Context(), []byte(`["x"]`)); err != nil {
			t.Fatal(err)
		}
		if b, err := c.Read(t.Context()); string(b) != `["x"]` || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
		if err := c.Close("done"); err != nil {
			t.Error(err)
		}
		if got := header.Get("Sec-WebSocket-Extensions"); got != "" {
			t.Errorf("offered extensions %q", got)
		}
		if got := header.Get("User-Agent"); got != "graspd" {
			t.Errorf("user agent %q", got)
		}
		if got := n.attempts(); !slices.Equal(got, []string{"1.1.1.1:80"}) {
			t.Errorf("dialed %v", got)
		}
	})
}

func TestDialRefusesBeforeItConnects(t *testing.T) {
	const long = "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a."
	names := map[string][]string{
		"localhost": {"127.0.0.1", "::1"}, "inside.example": {"10.1.2.3"}, "mapped.example": {"::ffff:10.1.2.3"},
		"LOCALHOST": {"127.0.0.1"}, "metadata.example": {"169.254.169.254"}, "nat64.example": {"64:ff9b::a00:1"}, "many.example": {"10.0.0.1", "fe80::1", "::1"},
		"a_b.example": {"192.168.0.1"},
	}
	for _, tt := range []struct {
		url       grasp.RelayURL
		forbidden bool
	}{
		{"ws://127.0.0.1:7334", true}, {"wss://10.0.0.1", true}, {"wss://[::1]", true}, {"wss://[::ffff:8.8.8.8]", true}, {"wss://[fe80::1%25eth0]", true},
		{"ws://0.0.0.0", true}, {"ws://169.254.169.254/latest/meta-data", true}, {"wss://[64:ff9b::808:808]", true}, {"wss://255.255.255.255", true},
		{"ws://localhost:7334", true}, {"ws://LOCALHOST", true}, {"wss://inside.example", true}, {"wss://mapped.example", true}, {"wss://metadata.example", true},
		{"wss://nat64.example", true}, {"wss://many.example", true}, {"wss://a_b.example", true},
		{"ws://127.1", false}, {"ws://0177.0.0.1", false}, {"ws://2130706433", false}, {"ws://0x7f000001", false}, {"ws://0x7f.0.0.0x1", false},
		{"ws://127.0.0.1.", false}, {"ws://127.0.0.01", false}, {"wss://1.2.3.4.5", false}, {"wss://x.onion", false}, {"wss://x.OnIoN.", false},
		{"ws://①②⑦.0.0.1", false}, {"ws://127。0。0。1", false}, {"wss://" + long + long + long + long, false}, {"wss://.", false},
		{"https://relay.example", false}, {"wss://user:secret@relay.example", false}, {"wss://relay.example:0", false}, {"wss://relay.example:65536", false},
		{"wss://relay.example:https", false}, {"wss://", false}, {"wss:///path", false}, {"", false}, {"relay.example", false}, {"wss://a%00b", false}, {"wss://[::1", false},
		{"wss://nowhere.example", false},
	} {
		t.Run(string(tt.url), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &network{names: names}
				cfg := n.config()
				cfg.Net.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) { // like one that reads numbers, and lies
					if found, err := n.lookup(ctx, host); err == nil || host == "nowhere.example" {
						return found, err
					}
					return []netip.Addr{netip.MustParseAddr("1.1.1.1")}, nil
				}
				d := relayconn.New(cfg)
				_, dialErr := d.Dial(t.Context(), tt.url)
				_, infoErr := d.Info(t.Context(), tt.url)
				for _, err := range []error{dialErr, infoErr} {
					if err == nil || errors.Is(err, relayconn.ErrForbiddenAddress) != tt.forbidden {
						t.Errorf("got %v", err)
					}
				}
				if got := n.attempts(); len(got) > 0 {
					t.Errorf("dialed %v", got)
				}
			})
		})
	}
}

func TestAddressRuleIsLifted(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*relayconn.Config)
		url  grasp.RelayURL
		want string // the address dialed; "" = refused
	}{
		{"private allowed, address", func(c *relayconn.Config) { c.Net.AllowPrivate = true }, "ws://127.0.0.1:7334", "127.0.0.1:7334"},
		{"private allowed, mapped", func(c *relayconn.Config) { c.Net.AllowPrivate = true }, "ws://[::ffff:10.0.0.1]", "[::ffff:10.0.0.1]:80"},
		{"private allowed, name", func(c *relayconn.Config) { c.Net.AllowPrivate = true }, "ws://inside.example", "10.1.2.3:80"},
		{"private allowed, public as before", func(c *relayconn.Config) { c.Net.AllowPrivate = true }, "wss://relay.example:7000", "1.1.1.1:7000"},
		{"private allowed, number", func(c *relayconn.Config) { c.Net.AllowPrivate = true }, "ws://127.1", ""},
		{"private allowed, credentials", func(c *relayconn.Config) { c.Net.AllowPrivate = true }, "ws://a:b@127.0.0.1", ""},
		{"bootstrap", bootstrap("ws://10.0.0.1:7000"), "ws://10.0.0.1:7000", "10.0.0.1:7000"},
		{"bootstrap by name", bootstrap("ws://inside.example"), "ws://inside.example", "10.1.2.3:80"},
		{"another port than the bootstrap", bootstrap("ws://10.0.0.1:7000"), "ws://10.0.0.1:22", ""},
		{"another host than the bootstrap", bootstrap("ws://10.0.0.1:7000"), "ws://10.0.0.2:7000", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := one(t, nil)
				n.names["inside.example"], n.names["127.1"] = []string{"10.1.2.3"}, []string{"127.0.0.1"}
				cfg := n.config()
				tt.set(&cfg)
				_, err := relayconn.New(cfg).Dial(t.Context(), tt.url)
				got := strings.Join(n.attempts(), " ")
				if err == nil || got != tt.want {
					t.Errorf("dialed %q, %v", got, err)
				}
			})
		})
	}
}

func bootstrap(u grasp.RelayURL) func(*relayconn.Config) {
	return func(c *relayconn.Config) { c.Exempt = func(v grasp.RelayURL) bool { return v == u } }
}

func TestOnlyPublicAddressesOfANameAreDialed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{names: map[string][]string{"relay.example": {"10.0.0.1", "1.1.1.1", "::1", "::ffff:9.9.9.9", "2606:4700::1"}}}
		if _, err := relayconn.New(n.config()).Dial(t.Context(), "wss://relay.example"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if got, want := n.attempts(), []string{"1.1.1.1:443", "9.9.9.9:443", "[2606:4700::1]:443"}; !slices.Equal(got, want) {
			t.Errorf("dialed %v, want %v", got, want)
		}
	})
}

func TestABlackHoleLeavesTimeForTheNextAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, websocketTo(echo))
		n.names["relay.example"] = []string{"2606:4700::1", "2606:4700::2", "1.1.1.1"}
		start := time.Now()
		c, err := relayconn.New(n.config()).Dial(t.Context(), "ws://relay.example")
		if err != nil {
			t.Fatal(err)
		}
		c.Close("")
		if took := time.Since(start); took > 7*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestAThousandAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{names: map[string][]string{}}
		for i := range 1000 {
			n.names["relay.example"] = append(n.names["relay.example"], fmt.Sprintf("1.1.%d.%d", i/256, i%256))
		}
		refused := errors.New("refused")
		cfg := n.config()
		cfg.Net.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			gone, cancel := context.WithCancel(ctx)
			cancel()
			n.dial(gone, network, addr)
			return nil, refused
		}
		if _, err := relayconn.New(cfg).Dial(t.Context(), "ws://relay.example"); !errors.Is(err, refused) {
			t.Errorf("got %v", err)
		}
		if got := len(n.attempts()); got != 8 {
			t.Errorf("dialed %d of them", got)
		}
	})
}

func TestDialIsBounded(t *testing.T) {
	drip := func(text string, every time.Duration) func(net.Conn) {
		return func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, text); err != nil {
					return
				}
				text = "x: " + strings.Repeat("y", 100) + "\r\n"
				time.Sleep(every)
			}
		}
	}
	for _, tt := range []struct {
		name  string
		url   grasp.RelayURL
		serve func(net.Conn)
		most  time.Duration
	}{
		{"black hole", "ws://relay.example", nil, 10 * time.Second},
		{"accepts and is silent", "ws://relay.example", func(c net.Conn) { io.Copy(io.Discard, c) }, 10 * time.Second},
		{"silent TLS", "wss://relay.example", func(c net.Conn) { io.Copy(io.Discard, c) }, 10 * time.Second},
		{"garbage as TLS", "wss://relay.example", func(c net.Conn) {
			io.WriteString(c, "SSH-2.0-x\r\n")
			io.Copy(io.Discard, c)
		}, 0},
		{"drips a header", "ws://relay.example", drip("HTTP/1.1 101 Switching Protocols\r\n", time.Second), 10 * time.Second},
		{"endless header", "ws://relay.example", drip("HTTP/1.1 101 Switching Protocols\r\n", time.Millisecond), time.Second},
		{"endless early hints", "ws://relay.example", func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n"); err != nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}, 10 * time.Second},
		{"endless refusal", "ws://relay.example", serve(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			for w.(http.Flusher).Flush(); ; time.Sleep(time.Second) {
				if _, err := io.WriteString(w, "no "); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			}
		}), 10 * time.Second},
		{"hangs up", "ws://relay.example", func(c net.Conn) { c.Close() }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				if _, err := relayconn.New(one(t, tt.serve).config()).Dial(t.Context(), tt.url); err == nil {
					t.Error("connected")
				}
				if took := time.Since(start); took > tt.most {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("shutdown")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		start := time.Now()
		_, err := relayconn.New(one(t, func(c net.Conn) { io.Copy(io.Discard, c) }).config()).Dial(ctx, "ws://relay.example")
		if took := time.Since(start); err == nil || took != time.Second || !errors.Is(err, stop) {
			t.Errorf("took %v, %v", took, err)
		}
	})
}

func TestHandshakeRefused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		status int
		after  time.Duration
		text   string
	}{
		{"forbidden", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not\x1b[31m you", http.StatusForbidden) }, 403, 0, `not\x1b[31m you\n`},
		{"ok without upgrade", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }, 200, 0, "hello"},
		{"too many", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "65")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 429, 65 * time.Second, ""},
		{"too many, until a date", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", time.Now().Add(90*time.Second).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
		}, 503, 90 * time.Second, ""},
		{"too many, for ever", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "4294967295")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 429, 24 * time.Hour, ""},
		{"too many, since the past", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "Wed, 21 Oct 1998 07:28:00 GMT")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 429, 0, ""},
		{"too many, nonsense", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "-5")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 429, 0, ""},
		{"redirect inside", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:80/", http.StatusFound)
		}, 302, 0, `<a href="http://127.0.0.1:80/">Found</a>.\n\n`},
		{"redirect elsewhere", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://1.1.1.1/")
			w.WriteHeader(http.StatusMovedPermanently)
		}, 301, 0, ""},
		{"long", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, strings.Repeat("é", 5000))
		}, 500, 0, strings.Repeat("é", 100)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := one(t, serve(tt.answer))
				_, err := relayconn.New(n.config()).Dial(t.Context(), "ws://relay.example")
				h, ok := errors.AsType[*relayconn.HandshakeError](err)
				if !ok || h.Status != tt.status || h.RetryAfter != tt.after || h.Text != tt.text {
					t.Errorf("got %#v, %v", h, err)
				}
				if got := n.attempts(); len(got) != 1 {
					t.Errorf("dialed %v", got)
				}
			})
		})
	}
}

func TestARefusalThatIsNoHTTP(t *testing.T) {
	for name, answer := range map[string]string{
		"garbage":   "\x00\x1b[2J" + strings.Repeat("z", 5000) + "\r\n\r\n",
		"no accept": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: \x1b[2J" + strings.Repeat("z", 5000) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := relayconn.New(one(t, func(c net.Conn) {
					io.WriteString(c, answer)
					io.Copy(io.Discard, c)
				}).config()).Dial(t.Context(), "ws://relay.example")
				if _, ok := errors.AsType[*relayconn.HandshakeError](err); err == nil || ok {
					t.Fatalf("got %v", err)
				}
				if s := err.Error(); strings.Contains(s, "\x1b") || len(s) > 300 {
					t.Errorf("%d bytes: %q", len(s), s)
				}
			})
		})
	}
}
