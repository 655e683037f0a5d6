package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/interop/wire"
)

// relays are light stand-ins for other relays: they have nothing stored, reconcile (NIP-77), take every live
// subscription, and send what they are told to.
type relays struct {
	urls []string
	all  []*standIn
}

// standIn is one of them.
type standIn struct {
	s *httptest.Server

	mu   sync.Mutex // guards the rest
	ws   *websocket.Conn
	live map[string]string // subscription by the tag value that it asks for
}

func newRelays(n int) *relays {
	r := &relays{}
	for range n {
		x := &standIn{}
		x.s = httptest.NewServer(x)
		r.all = append(r.all, x)
		r.urls = append(r.urls, "ws"+strings.TrimPrefix(x.s.URL, "http"))
	}
	return r
}

func (r *relays) close() error {
	for _, x := range r.all {
		x.mu.Lock()
		if x.ws != nil {
			_ = x.ws.CloseNow()
		}
		x.mu.Unlock()
		x.s.CloseClientConnections()
		x.s.Close()
	}
	return nil
}

func (x *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		http.NotFound(w, r) // no NIP-11 document
		return
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(4 << 20)
	x.mu.Lock()
	x.ws, x.live = ws, map[string]string{}
	x.mu.Unlock()
	for {
		_, b, err := ws.Read(r.Context())
		if err != nil {
			return
		}
		if a := x.answer(b); a != nil && ws.Write(r.Context(), websocket.MessageText, a) != nil {
			return
		}
	}
}

// answer is what it says to a message; nil is nothing.
func (x *standIn) answer(b []byte) []byte {
	m, err := nostr.ParseClient(b)
	if err != nil {
		return nostr.AppendNotice(nil, err.Error())
	}
	switch m := m.(type) {
	case nostr.Req:
		x.subscribe(m)
		return nostr.AppendEOSE(nil, m.Sub)
	case nostr.Close:
		x.forget(m.Sub)
	case nostr.NegOpen:
		return wire.HasNothing(m.Sub, m.Msg)
	case nostr.NegMsg:
		return wire.HasNothing(m.Sub, m.Msg)
	}
	return nil
}

func (x *standIn) subscribe(m nostr.Req) {
	x.forget(m.Sub)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range m.Filters {
		if f.Limit == nil || *f.Limit != 0 {
			continue
		}
		for _, t := range f.Tags {
			for _, v := range t.Values {
				x.live[v] = m.Sub
			}
		}
	}
}

func (x *standIn) forget(sub string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for v, s := range x.live {
		if s == sub {
			delete(x.live, v)
		}
	}
}

var errNotLive = errors.New("nobody is subscribed")

// send shows an event, which is about that value, to whoever is subscribed.
func (x *standIn) send(ctx context.Context, value string, json []byte) error {
	x.mu.Lock()
	ws, sub := x.ws, x.live[value]
	x.mu.Unlock()
	if sub == "" {
		return errNotLive
	}
	return ws.Write(ctx, websocket.MessageText, nostr.AppendRelayEvent(nil, sub, json))
}
