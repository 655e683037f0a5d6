package relay_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestSilentConnections: what never finishes a request is closed, and takes no more than its address may have.
func TestSilentConnections(t *testing.T) {
	inWorldAt(t, front.Rates{Open: 5}, relay.Limits{}, func(t *testing.T, w *world) {
		dial := func(addr string) net.Conn {
			t.Helper()
			c, err := w.net.dial(t.Context(), addr)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		closed := func(c net.Conn, within time.Duration) bool {
			c.SetReadDeadline(time.Now().Add(within))
			_, err := io.ReadAll(c)
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
		for name, beginning := range map[string]string{
			"nothing at all":     "",
			"half a head":        "GET / HTTP/1.1\r\nHost: x\r\n",
			"half an upgrade":    "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upg",
			"a body that lasts":  "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx",
			"one request, alone": "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		} {
			c := dial(stranger)
			io.WriteString(c, beginning)
			if !closed(c, 90*time.Second) {
				t.Errorf("%s is not closed", name)
			}
			c.Close()
		}
		synctest.Wait()
		var silent []net.Conn
		for range 105 {
			silent = append(silent, dial(stranger))
		}
		over := dial(stranger)
		if !closed(over, time.Second) {
			t.Error("there is no end of connections from one address")
		}
		if far := dial("198.51.100.2:1"); closed(far, time.Second) {
			t.Error("another address is refused")
		}
		if local := dial("127.0.0.1:1"); closed(local, time.Second) {
			t.Error("the operator is refused")
		}
		silent[0].Close()
		synctest.Wait()
		again := w.dialFrom(t, stranger)
		again.send(t, `["REQ","a",{"limit":0}]`)
		again.expect(t, `["EOSE","a"]`)
		again.close()
		time.Sleep(11 * time.Second)
		for range 50 {
			c := dial(stranger)
			if closed(c, time.Second) {
				t.Fatal("the places of connections that were closed are not free")
			}
			c.Close()
			synctest.Wait()
		}
	})
}

// TestHugeHeader: a head without an end is not read.
func TestHugeHeader(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		c, err := w.net.dial(t.Context(), stranger)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		sent := make(chan int)
		go func() {
			n := 0
			line := []byte("X-More: " + strings.Repeat("x", 1000) + "\r\n")
			_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n")
			for ; err == nil && n < 1<<20; n += len(line) {
				_, err = c.Write(line)
			}
			sent <- n
		}()
		answer, err := io.ReadAll(c)
		if !bytes.HasPrefix(answer, []byte("HTTP/1.1 431 ")) {
			t.Errorf("answer %.100q, %v", answer, err)
		}
		c.Close()
		if n := <-sent; n > 200<<10 {
			t.Errorf("%d bytes were taken", n)
		}
	})
}

// TestIdleConnectionsTakeLittle: thousands that do nothing cost little each, and nothing when they have gone.
func TestIdleConnectionsTakeLittle(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		memory := func() uint64 {
			synctest.Wait()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapInuse + m.StackInuse
		}
		before := memory()
		const n = 1000 / slower
		var clients []*client
		for range n {
			c := w.dial(t)
			c.send(t, `["REQ","a",{"kinds":[1621],"limit":0}]`)
			c.expect(t, `["EOSE","a"]`)
			clients = append(clients, c)
		}
		time.Sleep(2 * time.Minute)
		if each := (memory() - before) / n; each > 100<<10*slower { // both ends, and the pipe between them
			t.Errorf("%d bytes for each connection", each)
		}
		if st := w.relay.Stats(); st.Sessions != n {
			t.Errorf("%d sessions", st.Sessions)
		}
		for _, c := range clients {
			c.close()
		}
		synctest.Wait()
		if st := w.relay.Stats(); st != (relay.Stats{}) {
			t.Errorf("left behind: %+v", st)
		}
	})
}
