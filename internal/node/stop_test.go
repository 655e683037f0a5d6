package node_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/test/testkit/pipe"
)

const here = "192.0.2.1:80"

// listener accepts what it is given, until it is closed, which is done once.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(here)) }

// TestARequestUnderWayIsAnsweredAtTheStop: what is about to be answered when the node is told to stop is answered; what would take
// longer is cut, and holds nobody up.
func TestARequestUnderWayIsAnsweredAtTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := node.New(node.Config{
			Dir: "data", Service: service(t), Store: store.Options{FS: vfs.NewMem()},
			Identity: func() (node.Identity, error) { return node.Identity{PubKey: nostr.PubKey{1}}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		var cut atomic.Bool
		n.Front.Handle(front.Route{
			Takes: func(req *http.Request) bool { return req.URL.Path == "/slow" },
			Serve: func(w http.ResponseWriter, req *http.Request, _ front.Client) {
				d, err := time.ParseDuration(req.URL.RawQuery)
				if err != nil {
					t.Error(err)
				}
				select {
				case <-time.After(d):
					io.WriteString(w, "done")
				case <-req.Context().Done():
					time.Sleep(2 * time.Second) // for what it has under way
					cut.Store(true)
				}
			},
		})
		l := listener{make(chan net.Conn), make(chan struct{})}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx, node.Listeners{Public: l}) }()
		get := func(query string) <-chan bool {
			answered := make(chan bool, 1)
			conn, far := pipe.New("198.51.100.1:1", here, nil, nil)
			l.conns <- far
			go func() {
				defer conn.Close()
				io.WriteString(conn, "GET /slow?"+query+" HTTP/1.0\r\n\r\n")
				b, _ := io.ReadAll(conn)
				answered <- len(b) > 0
			}()
			return answered
		}
		soon, late := get("500ms"), get("1m")
		synctest.Wait()
		told := time.Now()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if !cut.Load() {
			t.Error("what serves a request outlives the node")
		}
		if d := time.Since(told); d > 10*time.Second {
			t.Errorf("stopped after %v", d)
		}
		if !<-soon {
			t.Error("a request under way was not answered")
		}
		if <-late {
			t.Error("a request that would take a minute was answered")
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
}
