package relay_test

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/serve/front"
)

// TestWhatAClientThatLeftHasSent: requests that a client has sent before it left, and that would have to wait for the rate of its
// address, are not worked on. It needs the system's connections.
func TestWhatAClientThatLeftHasSent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	for name, leave := range map[string]func(*net.TCPConn){
		"closed": func(c *net.TCPConn) { c.Close() },
		"reset":  func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			w := assemble(t, settings{
				rates:   front.Rates{Requests: 1},
				proxies: []netip.Prefix{netip.MustParsePrefix("127.255.255.255/32")}, // so that loopback has rates
			})
			w.settle = func() {
				for range 1_000_000 {
					if len(w.relay.Unreturned()) == 0 {
						break
					}
					runtime.Gosched()
				}
			}
			defer w.stop()
			w.startRelay()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := w.front.Server()
			served := make(chan error)
			go func() { served <- server.Serve(w.front.Listener(l)) }()
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			c := upgrade(t, conn)
			c.Write([]byte(strings.Repeat(string(frame(true, opText, `["CLOSE","a"]`)), 5000)))
			leave(conn.(*net.TCPConn))
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			for w.relay.Stats().Sessions > 0 {
				if ctx.Err() != nil {
					t.Fatal("it is still worked on")
				}
				runtime.Gosched()
			}
			if n := w.relay.Traffic().Frames; n > 100 {
				t.Errorf("%d messages of a client that has left were read", n)
			}
			server.Close()
			if err := <-served; err != http.ErrServerClosed {
				t.Error(err)
			}
		})
	}
}
