package testkit

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
)

// Serve puts a fake relay of its own on a loopback port until the test ends.
func Serve(t testing.TB) *FakeRelay {
	t.Helper()
	f := NewNet(t).Relay("")
	s := httptest.NewServer(f)
	t.Cleanup(func() { f.Drop(); s.Close() })
	u, err := grasp.NormalizeRelay("ws" + strings.TrimPrefix(s.URL, "http"))
	if err != nil {
		t.Fatal(err)
	}
	f.URL = u
	return f
}

// ServeHTTP carries the frames of a WebSocket to the fake relay and back, and serves the information document.
func (f *FakeRelay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Accept") == nip11.ContentType {
		f.serveInfo(w)
		return
	}
	if s := f.Status.Load(); s != 0 {
		w.WriteHeader(int(s))
		return
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(1 << 22)
	if f.CloseOver > 0 {
		ws.SetReadLimit(int64(f.CloseOver)) // a longer message ends the connection with 1009
	}
	c, err := f.admit(r.RemoteAddr)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	var both sync.WaitGroup
	both.Go(func() {
		defer cancel()
		for {
			b, err := c.Read(ctx)
			if err != nil || ws.Write(ctx, websocket.MessageText, b) != nil {
				return
			}
		}
	})
	for {
		_, b, err := ws.Read(ctx)
		if err != nil || c.Write(ctx, b) != nil {
			break
		}
	}
	cancel()
	_ = c.Close("the socket ended")
	both.Wait()
}

func (f *FakeRelay) serveInfo(w http.ResponseWriter) {
	if f.Info == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	b, err := f.Info.JSON()
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", nip11.ContentType)
	_, _ = w.Write(b)
}
