package relay_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

// served is a relay on loopback with stored events, made once for all benchmarks of a run.
type served struct {
	addr string
	ids  []nostr.ID
	size int // of an event
}

const servedEvents = 20_000

var benchServed = sync.OnceValue(func() served {
	service, err := grasp.ParseService(domain)
	if err != nil {
		panic(err)
	}
	st, err := store.Open(store.Options{Dir: "store", FS: vfs.NewMem()})
	if err != nil {
		panic(err)
	}
	out := served{}
	b, err := st.Begin()
	if err != nil {
		panic(err)
	}
	for n := range servedEvents {
		e := issue(1_700_000_000+int64(n*7919%servedEvents), fmt.Sprintf("%d %s", n, strings.Repeat("text of an issue ", 60)))
		if _, err := b.Add(e, store.Catchup); err != nil {
			panic(err)
		}
		out.ids, out.size = append(out.ids, e.ID), len(e.AppendJSON(nil))
	}
	if _, err := b.Commit(); err != nil {
		panic(err)
	}
	door := ingest.New(ingest.Config{Store: st, Rules: policy.Rules{Service: service}})
	public := front.New(front.Config{})
	r, err := relay.New(relay.Config{Front: public, Store: st, Door: doors{door}, Rules: door, Service: service})
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go public.Server().Serve(l)
	go r.Run(context.Background())
	out.addr = l.Addr().String()
	return out
})

// rawClient reads frames without unmasking, parsing or copying them, so that what is measured is the relay.
type rawClient struct {
	net.Conn
	in *bufio.Reader
}

func dialRaw(b *testing.B, addr string) *rawClient {
	b.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	c := &rawClient{conn, bufio.NewReaderSize(conn, 256<<10)}
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	res, err := http.ReadResponse(c.in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		b.Fatal(res, err)
	}
	return c
}

// ask sends a REQ and returns how many events come before EOSE.
func (c *rawClient) ask(b *testing.B, filter nostr.Filter) (n int) {
	b.Helper()
	for _, frame := range [][]byte{nostr.AppendReq(nil, "q", filter), nostr.AppendClose(nil, "q")} {
		head := []byte{0x81, 0x80 | 126, byte(len(frame) >> 8), byte(len(frame)), 0, 0, 0, 0}
		if len(frame) < 126 {
			head = []byte{0x81, 0x80 | byte(len(frame)), 0, 0, 0, 0}
		}
		if _, err := c.Write(append(head, frame...)); err != nil {
			b.Fatal(err)
		}
		for end := frame[2] == 'C'; !end; {
			text, size := c.frame(b)
			switch {
			case bytes.HasPrefix(text, []byte(`["EVENT"`)):
				n++
			case bytes.HasPrefix(text, []byte(`["EOSE"`)):
				end = true
			case !bytes.HasPrefix(text, []byte(`["AUTH"`)):
				b.Fatalf("%s", text)
			}
			c.in.Discard(size)
		}
	}
	return n
}

// frame shows how the next one begins, and how much of it is to be discarded.
func (c *rawClient) frame(b *testing.B) (text []byte, size int) {
	head, err := c.in.Peek(4)
	if err != nil {
		b.Fatal(err)
	}
	size = int(head[1])
	if size == 126 {
		size = int(head[2])<<8 | int(head[3])
		c.in.Discard(2)
	}
	c.in.Discard(2)
	text, _ = c.in.Peek(min(size, 8))
	return text, size
}

// cpu is what the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAnswer measures a REQ from its first byte until EOSE, over loopback. CPU is that of both sides; beside it stands what
// both sides of a bare connection take for as many bytes in pieces of an event each.
func BenchmarkAnswer(b *testing.B) {
	s := benchServed()
	limit := 500
	for _, q := range []struct {
		name   string
		filter nostr.Filter
	}{
		{"none", nostr.Filter{IDs: []nostr.ID{{}}}},
		{"newest500", nostr.Filter{Limit: &limit}},
		{"ids500", nostr.Filter{IDs: s.ids[:500]}},
	} {
		b.Run(q.name, func(b *testing.B) {
			c := dialRaw(b, s.addr)
			defer c.Close()
			var n int
			before := cpu()
			for b.Loop() {
				n = c.ask(b, q.filter)
			}
			b.ReportMetric(float64(cpu()-before)/float64(b.N)/float64(max(n, 1)), "cpu-ns/event")
			b.ReportMetric(float64(n), "events")
		})
	}
	b.Run("bare", func(b *testing.B) { bare(b, s.size) })
}

func bare(b *testing.B, size int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		for event := make([]byte, size); err == nil; {
			_, err = conn.Write(event)
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	before := cpu()
	for b.Loop() {
		if _, err := io.CopyN(io.Discard, conn, int64(500*size)); err != nil && !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu()-before)/float64(b.N)/500, "cpu-ns/event")
	conn.Close()
}
