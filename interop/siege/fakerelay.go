package main

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/interop/wire"
)

// fakeRelay is a relay of an attacker, at an address of its own. It has nothing stored, reconciles (NIP-77), takes every
// subscription, and harms whoever is connected once the attack has begun.
type fakeRelay struct {
	url    string
	server *http.Server
	raw    atomic.Pointer[net.Conn] // the connection under the last WebSocket

	mu   sync.Mutex // guards the rest
	ws   *websocket.Conn
	live string // a live subscription; "" is none
}

// syncing are the flags of a relay that connects to such relays at once.
var syncing = []string{"--sync-allow-private", "--sync-batch-window", "1s", "--sync-base-backoff", "1s"}

// newFakeRelay listens on the nth address of the other relays.
func newFakeRelay(n int) (*fakeRelay, error) {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(on(relayNet, n), 0)))
	if err != nil {
		return nil, err
	}
	f := &fakeRelay{url: "ws://" + l.Addr().String()}
	f.server = &http.Server{Handler: f, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, &c)
	}}
	go func() { _ = f.server.Serve(l) }()
	return f, nil
}

// newFakeRelays adds n relays to the scene.
func newFakeRelays(s *scene, n int) error {
	for i := range n {
		f, err := newFakeRelay(i)
		if err != nil {
			return err
		}
		s.relays = append(s.relays, f)
	}
	return nil
}

func (f *fakeRelay) close() {
	if ws, _ := f.connection(); ws != nil {
		_ = ws.CloseNow()
	}
	_ = f.server.Close()
}

// connection is where graspd is connected, and its live subscription; nil and "" while there is none.
func (f *fakeRelay) connection() (*websocket.Conn, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ws, f.live
}

// connKey is where the context of a request has its connection.
type connKey struct{}

// ServeHTTP takes graspd's connection. There is no information document.
func (f *fakeRelay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		http.NotFound(w, r)
		return
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(4 << 20)
	f.raw.Store(r.Context().Value(connKey{}).(*net.Conn))
	f.keep(ws, "")
	defer f.keep(nil, "")
	for {
		_, b, err := ws.Read(r.Context())
		if err != nil {
			return
		}
		if a := f.answer(ws, b); a != nil && ws.Write(r.Context(), websocket.MessageText, a) != nil {
			return
		}
	}
}

func (f *fakeRelay) keep(ws *websocket.Conn, live string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ws, f.live = ws, live
}

// answer is what it says to a message; nil is nothing.
func (f *fakeRelay) answer(ws *websocket.Conn, b []byte) []byte {
	m, err := nostr.ParseClient(b)
	if err != nil {
		return nostr.AppendNotice(nil, err.Error())
	}
	switch m := m.(type) {
	case nostr.Req:
		for _, x := range m.Filters {
			if x.Limit != nil && *x.Limit == 0 && x.Tags != nil { // about a repository
				f.keep(ws, m.Sub)
			}
		}
		return nostr.AppendEOSE(nil, m.Sub)
	case nostr.NegOpen:
		return wire.HasNothing(m.Sub, m.Msg)
	case nostr.NegMsg:
		return wire.HasNothing(m.Sub, m.Msg)
	}
	return nil
}

// followed waits until graspd has a live subscription on all relays of the scene, or on as many as it has after some time.
func followed(ctx context.Context, s *scene) (n int) {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		n = 0
		for _, f := range s.relays {
			if _, live := f.connection(); live != "" {
				n++
			}
		}
		if n == len(s.relays) || sleep(ctx, 200*time.Millisecond) != nil {
			break
		}
	}
	return n
}

// harm does it on each relay to which graspd is connected, on every connection anew, until ctx ends.
func harm(ctx context.Context, s *scene, do func(ctx context.Context, ws *websocket.Conn, live string, number int) error) error {
	var all sync.WaitGroup
	for i, f := range s.relays {
		all.Go(func() {
			for ctx.Err() == nil {
				if ws, live := f.connection(); ws != nil && live != "" {
					s.got.opened.Add(1)
					if err := do(ctx, ws, live, i); err != nil && ctx.Err() == nil {
						s.got.cut.Add(1)
					}
					f.forget(ws)
				}
				_ = sleep(ctx, 100*time.Millisecond)
			}
		})
	}
	all.Wait()
	return nil
}

// forget closes a connection that was harmed.
func (f *fakeRelay) forget(ws *websocket.Conn) {
	_ = ws.CloseNow()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ws == ws {
		f.ws, f.live = nil, ""
	}
}
