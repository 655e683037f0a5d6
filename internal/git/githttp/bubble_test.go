package githttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
	"github.com/graspd/graspd/internal/test/testkit/pipe"
)

// memory is a listener whose connections are in memory.
type memory struct {
	conns chan net.Conn
	end   func()
	ended chan struct{}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.ended:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.end(); return nil }
func (m *memory) Addr() net.Addr { return &net.TCPAddr{} }

// bubbled is a world in a bubble, whose repository "r" has one ref, and whose packs a test makes.
type bubbled struct {
	*world
	net *memory
	tip gitwire.ObjectID
}

func inBubble(t *testing.T, c settings, test func(t *testing.T, w *bubbled)) {
	t.Helper()
	dir := c.CacheDir
	if dir == "" {
		dir = t.TempDir()
	}
	synctest.Test(t, func(t *testing.T) {
		c.CacheDir = dir
		ended := make(chan struct{})
		w := &bubbled{begin(t, c), &memory{make(chan net.Conn), sync.OnceFunc(func() { close(ended) }), ended}, mustID(t, strings.Repeat("1", 40))}
		w.change()
		served := make(chan error, 1)
		go func() { served <- w.http.Serve(w.net) }()
		defer func() {
			w.http.Close()
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
			time.Sleep(time.Second) // in which the server sees to connections of which it has not read all
			w.end(t)
		}()
		test(t, w)
	})
}

// change makes another generation of the repository.
func (w *bubbled) change() {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &repo{dir: "memory", generation: 1, refs: &gitwire.Refs{Head: "refs/heads/trunk", List: []gitwire.Ref{{Name: "refs/heads/trunk", ID: w.tip}}}}
	if old := w.repos["r"]; old != nil {
		r.generation = old.generation + 1
	}
	w.repos["r"] = r
}

// client is one end of a connection over which one request goes.
type client struct {
	net.Conn
	t    testing.TB
	in   *bufio.Reader
	body io.Reader
}

func (w *bubbled) dial(t testing.TB, from string) *client {
	t.Helper()
	near, far := pipe.New(from+":5000", "203.0.113.1:80", nil, nil)
	w.net.conns <- far
	t.Cleanup(func() { near.Close() })
	return &client{Conn: near, t: t, in: bufio.NewReader(near)}
}

// begin begins a request of so many bytes, of which the first are sent. With -1 they are all, and only the server does not know that before it
// has read them.
func (w *bubbled) begin(t testing.TB, from, service, body string, bytes int, head ...string) *client {
	t.Helper()
	c := w.dial(t, from)
	length := fmt.Sprint("Content-Length: ", bytes)
	if bytes < 0 {
		length, body = "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	text := fmt.Sprintf("POST %s/git-%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-git-%s-request\r\n%s\r\n", path("r"), service, service, length)
	for i := 0; i < len(head); i += 2 {
		text += head[i] + ": " + head[i+1] + "\r\n"
	}
	c.send(text + "\r\n" + body)
	return c
}

// fetch asks for what is wanted.
func (w *bubbled) fetch(t testing.TB, from string, f *gitwire.Fetch) *client {
	t.Helper()
	if len(f.Wants)+len(f.WantRefs) == 0 {
		f.Wants = []gitwire.ObjectID{w.tip}
	}
	f.Done = true
	body := string(gitwire.Request{Version: f.Version, Fetch: f}.AppendTo(nil))
	return w.begin(t, from, "upload-pack", body, len(body), "Git-Protocol", fmt.Sprint("version=", int(f.Version)))
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads the head.
func (c *client) answer() *http.Response {
	c.t.Helper()
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.body = res.Body
	return res
}

// all reads an answer to its end, which has to be one.
func (c *client) all() string {
	c.t.Helper()
	text, err := c.rest()
	if err != nil {
		c.t.Fatalf("after %.100q: %v", text, err)
	}
	return text
}

func (c *client) rest() (string, error) {
	c.t.Helper()
	if c.body == nil {
		res, err := http.ReadResponse(c.in, nil)
		if err != nil {
			return "", err
		}
		c.body = res.Body
	}
	b, err := io.ReadAll(c.body)
	return string(b), err
}

// next reads a frame of the answer.
func (c *client) next() string {
	c.t.Helper()
	if c.body == nil {
		c.answer()
	}
	_, payload, err := pktline.NewReader(c.body, pktline.MaxFrame).Next()
	if err != nil {
		c.t.Fatal(err)
	}
	return string(payload)
}

// packed is the answer of version 2 with that pack.
func packed(pack string) string {
	var b strings.Builder
	bands := pktline.NewSideband(&b, pktline.Sideband64kFrame)
	_, _ = bands.Write([]byte(pack)) // a strings.Builder takes everything
	_ = bands.Flush()
	return frame("packfile\n") + b.String()
}

// unpacked is the pack in an answer of version 2, whatever its frames.
func unpacked(t testing.TB, answer string) string {
	t.Helper()
	rest, ok := strings.CutPrefix(answer, frame("packfile\n"))
	if !ok {
		t.Fatalf("no pack in %.100q", answer)
	}
	r := pktline.NewReader(strings.NewReader(rest), int64(len(rest)))
	var b strings.Builder
	for {
		kind, payload, err := r.Next()
		switch {
		case err != nil:
			t.Fatal(err)
		case kind == pktline.Flush:
			return b.String()
		case payload[0] != byte(pktline.BandData):
			t.Fatalf("band %d: %q", payload[0], payload[1:])
		}
		b.Write(payload[1:])
	}
}

// paced is a pack that a test makes piece by piece.
type paced struct {
	pieces chan string
	ended  chan error // why its making was ended
}

func (w *bubbled) paced() *paced {
	p := &paced{make(chan string), make(chan error, 10)}
	w.pack = func(ctx context.Context, out io.Writer) error {
		for {
			select {
			case piece, ok := <-p.pieces:
				if !ok {
					return nil
				}
				if _, err := io.WriteString(out, piece); err != nil {
					return err
				}
			case <-ctx.Done():
				p.ended <- context.Cause(ctx)
				return context.Cause(ctx)
			}
		}
	}
	return p
}
