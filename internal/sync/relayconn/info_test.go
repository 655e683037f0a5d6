package relayconn_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/sync/relayconn"
)

func TestInfo(t *testing.T) {
	answer := func(status int, contentType, body string) func(net.Conn) {
		return serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
	}
	const doc = `{"name":"a","limitation":{"max_subscriptions":"20"}}`
	want := nip11.Document{Name: "a", Limitation: nip11.Limitation{MaxSubscriptions: 20}}
	for _, tt := range []struct {
		name  string
		serve func(net.Conn)
		check func(error) bool // nil: no error, and want
	}{
		{"plain", answer(200, nip11.ContentType, doc), nil},
		{"as something else", answer(200, "text/html", doc), nil},
		{"as large as may be", answer(200, nip11.ContentType, doc+strings.Repeat(" ", 256<<10-len(doc))), nil},
		{"larger", answer(200, nip11.ContentType, doc+strings.Repeat(" ", 256<<10-len(doc)+1)), is(nip11.ErrTooLarge)},
		{"HTML", answer(200, "text/html", "<!DOCTYPE html>"), anyError},
		{"not found", answer(404, "text/plain", "no\x1b"), status(404, `no\x1b`)},
		{"redirect", serve(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1/", http.StatusFound)
		}), status(302, `<a href="http://127.0.0.1/">Found</a>.\n\n`)},
		{"redirect to itself", serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/x")
			w.WriteHeader(http.StatusPermanentRedirect)
		}), status(308, "")},
		{"garbage", func(c net.Conn) {
			io.WriteString(c, "SSH-2.0-x\r\n")
			io.Copy(io.Discard, c)
		}, anyError},
		{"not hanging up", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 52\r\n\r\n"+doc)
			io.Copy(io.Discard, c)
		}, nil},
		{"silent", func(c net.Conn) { io.Copy(io.Discard, c) }, anyError},
		{"endless", serve(func(w http.ResponseWriter, _ *http.Request) {
			for sent := 0; ; sent += 8 << 10 {
				if _, err := io.WriteString(w, strings.Repeat(" ", 8<<10)); err != nil {
					return
				}
				if sent > 1<<20 {
					t.Error("more than 1 MiB was taken")
					return
				}
			}
		}), is(nip11.ErrTooLarge)},
		{"dripping", serve(func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, " "); err != nil {
					return
				}
				if http.NewResponseController(w).Flush() != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		}), anyError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := one(t, tt.serve)
				start := time.Now()
				got, err := relayconn.New(n.config()).Info(t.Context(), "ws://relay.example/path")
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("took %v", took)
				}
				if tt.check == nil && (err != nil || !reflect.DeepEqual(got, want)) || tt.check != nil && (err == nil || !tt.check(err)) {
					t.Errorf("got %+v, %v", got, err)
				}
				if got := n.attempts(); len(got) != 1 {
					t.Errorf("dialed %v", got)
				}
			})
		})
	}
}

func anyError(error) bool { return true }

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

func status(code int, text string) func(error) bool {
	return func(err error) bool {
		h, ok := errors.AsType[*relayconn.HandshakeError](err)
		return ok && h.Status == code && h.Text == text
	}
}

func TestInfoAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, serve(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept") != nip11.ContentType || r.Header.Get("User-Agent") != "graspd/1" || r.Header.Get("Accept-Encoding") != "" || r.URL.String() != "/path?q=1" || r.Host != "relay.example" {
				t.Errorf("asked %s %s with %v", r.Host, r.URL, r.Header)
			}
			io.WriteString(w, "{}")
		}))
		cfg := n.config()
		cfg.UserAgent = "graspd/1"
		if _, err := relayconn.New(cfg).Info(t.Context(), "ws://relay.example/path?q=1"); err != nil {
			t.Error(err)
		}
	})
}
