package relay_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

// beside is a route that sends a byte every ten seconds for as long as it is told, and charges the address for each what so many
// requests cost.
func beside(path string, lasts, answer time.Duration, requests int) front.Route {
	return front.Route{
		Takes:  func(req *http.Request) bool { return req.URL.Path == path },
		Answer: answer, Request: answer / 6,
		Serve: func(w http.ResponseWriter, req *http.Request, from front.Client) {
			for range lasts / (10 * time.Second) {
				select {
				case <-time.After(10 * time.Second):
				case <-req.Context().Done():
					return
				}
				from.Visitor.Charge(requests * front.StepsPerRequest)
				io.WriteString(w, "x")
				if http.NewResponseController(w).Flush() != nil {
					return
				}
			}
		},
	}
}

// TestDownloadBesideTheRelay: what another route serves for minutes is served beside the relay, under the accounts of the same address,
// and nobody else has more time for it.
func TestDownloadBesideTheRelay(t *testing.T) {
	c := settings{routes: []front.Route{beside("/long", 5*time.Minute, 6*time.Minute, 1700), beside("/short", 5*time.Minute, 0, 0)}}
	inBubble(t, c, func(t *testing.T, w *world) {
		get := func(path string) io.ReadCloser {
			t.Helper()
			conn, err := w.net.dial(t.Context(), stranger)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(conn, "GET "+path+" HTTP/1.0\r\nHost: x\r\n\r\n")
			return conn
		}
		began := time.Now()
		download := get("/long")
		defer download.Close()
		done := make(chan int, 1)
		go func() {
			b, _ := io.ReadAll(download)
			done <- len(b[len(b)-30:])
		}()

		slow, err := w.net.dial(t.Context(), stranger)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(slow, "GET /long HTTP/1.1\r\nHost")
		slow.SetReadDeadline(began.Add(time.Minute))
		if _, err := io.ReadAll(slow); errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > 11*time.Second {
			t.Errorf("half a head is closed after %v, %v", time.Since(began), err)
		}

		time.Sleep(10 * time.Millisecond) // the download charges its address for the first time as half a head is closed, in the same moment

		same, other := w.dialFrom(t, stranger), w.dialFrom(t, "198.51.100.2:1")
		defer same.close()
		defer other.close()
		ask := func(c *client) time.Duration {
			asked := time.Now()
			c.send(t, `["REQ","a",{"limit":0}]`)
			c.expect(t, `["EOSE","a"]`)
			return time.Since(asked)
		}
		if d := ask(other); d > time.Second {
			t.Errorf("another address waits for %v", d)
		}
		if d := ask(same); d < 4*time.Second {
			t.Errorf("the address of the download waits for %v", d)
		}

		short := get("/short")
		b, _ := io.ReadAll(short)
		short.Close()
		if d := time.Since(began); d > time.Minute {
			t.Errorf("a route without more time has answered %q for %v", b, d)
		}
		if n := <-done; n != 30 || time.Since(began) < 5*time.Minute {
			t.Errorf("%d bytes after %v", n, time.Since(began))
		}
		synctest.Wait()
	})
}

// TestOptionsOfEveryRoute: what a browser asks beforehand is answered for every path (GRASP-01).
func TestOptionsOfEveryRoute(t *testing.T) {
	c := settings{Config: relay.Config{}, routes: []front.Route{beside("/long", 0, 0, 0)}}
	inBubble(t, c, func(t *testing.T, w *world) {
		for _, path := range []string{"/", "/long", "/nowhere"} {
			resp, _ := w.get(t, "OPTIONS", path, nil)
			if resp.StatusCode != http.StatusNoContent {
				t.Errorf("%s: %s", path, resp.Status)
			}
			checkCORS(t, resp.Header)
			resp, _ = w.get(t, "GET", path, nil)
			checkCORS(t, resp.Header)
		}
	})
}
