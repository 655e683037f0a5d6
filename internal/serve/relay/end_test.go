package relay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestShutdown: every client hears CLOSED for what it has open and 1001, after the OKs that it is owed; new ones are refused.
func TestShutdown(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c := w.dial(t)
		defer c.close()
		idle := w.dial(t)
		defer idle.close()
		c.send(t, `["REQ","b",{"limit":0}]`)
		c.expect(t, `["EOSE","b"]`)
		c.send(t, `["REQ","a",{"limit":0,"kinds":[1]}]`)
		c.expect(t, `["EOSE","a"]`)
		c.send(t, `["NEG-OPEN","n",{},"61"]`)
		c.expect(t, `["NEG-MSG","n","61"]`)
		start := time.Now()
		synctest.Wait()
		go w.stop()
		c.expect(t, `["CLOSED","a","error: the relay is shutting down"]`)
		c.expect(t, `["CLOSED","b","error: the relay is shutting down"]`)
		for _, one := range []*client{c, idle} {
			if _, err := one.next(time.Minute); websocket.CloseStatus(err) != websocket.StatusGoingAway || reason(err) != "the relay is shutting down" {
				t.Errorf("closed by %v", err)
			}
		}
		w.stop()
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %v", took)
		}
		if left, n := w.relay.FilterBytes(), w.relay.Indexed(); left != 512<<20 || n != 0 {
			t.Errorf("%d bytes left for filters, %d places in the index", left, n)
		}
	})
}

// TestShutdownOwesOKs: an event that was taken before the end is answered.
func TestShutdownOwesOKs(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c := w.dial(t)
		defer c.close()
		events := several(500, 20)
		for _, e := range events {
			c.send(t, string(nostr.AppendEventMsg(nil, e)))
		}
		go w.stop()
		n := 0
		for _, e := range events {
			frame, err := c.next(time.Minute)
			if err != nil {
				break
			}
			if ok, isOK := parse(t, frame).(nostr.OK); !isOK || ok.ID != e.ID {
				t.Fatalf("answer %d: %s", n, frame)
			}
			n++
		}
		if head := int(w.store.Head()); head-1 > n {
			t.Errorf("%d events were stored, and %d answered", head-1, n)
		}
	})
}

// TestShutdownWaitsForOKs: what the door decides a moment after the end is still answered, and what it does not decide
// holds nothing up.
func TestShutdownWaitsForOKs(t *testing.T) {
	for name, soon := range map[string]bool{"soon": true, "late": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
				w.put(t, announcement())
				release := w.blockDoor(t)
				c := w.dial(t)
				defer c.close()
				e := issue(time.Now().Unix(), "last")
				c.send(t, string(nostr.AppendEventMsg(nil, e)))
				synctest.Wait()
				start := time.Now()
				go w.endRelay()
				if soon {
					time.Sleep(500 * time.Millisecond)
					release()
					c.expect(t, string(nostr.AppendOK(nil, e.ID, true, "")))
				}
				if _, err := c.next(time.Minute); websocket.CloseStatus(err) != websocket.StatusGoingAway {
					t.Errorf("closed by %v", err)
				}
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("it took %v", took)
				}
				if !soon {
					release()
				}
			})
		})
	}
}

// TestShutdownWhileTheDoorIsFull: the event that waits for a place at the door is not taken any more, and its client hears that
// after the OKs of those that were.
func TestShutdownWhileTheDoorIsFull(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		release := w.blockDoor(t)
		c := w.dial(t)
		defer c.close()
		events := several(1100, 20)
		for _, e := range events {
			c.send(t, string(nostr.AppendEventMsg(nil, e)))
		}
		synctest.Wait()
		go w.endRelay()
		time.Sleep(500 * time.Millisecond)
		release()
		for _, e := range events {
			ok, isOK := parse(t, c.read(t)).(nostr.OK)
			if !isOK || ok.ID != e.ID {
				t.Fatalf("got %+v", ok)
			}
			if !ok.OK {
				if want := "error: not taken, the connection is being closed"; ok.Reason != want {
					t.Errorf("refused with %q", ok.Reason)
				}
				break
			}
		}
		if _, err := c.next(time.Minute); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("closed by %v", err)
		}
	})
}

// TestShutdownWithStuckClients: clients that take nothing, or answer no close frame, do not hold up the end.
func TestShutdownWithStuckClients(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(400, 2000)...)
		for range 3 {
			c := w.dialIdle(t)
			c.send(t, `["REQ","a",{"kinds":[1621]}]`)
			w.dialIdle(t)
		}
		synctest.Wait()
		start := time.Now()
		w.stop()
		if took := time.Since(start); took > 3500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

// TestShutdownWithSilentClients: clients that read all and say nothing, not even farewell, are waited for half a second.
func TestShutdownWithSilentClients(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		for range 3 {
			w.dialIdle(t)
		}
		synctest.Wait()
		start := time.Now()
		w.stop()
		if took := time.Since(start); took < 400*time.Millisecond || took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestRefusedAfterShutdown: a handler that is still called after Run takes nobody.
func TestRefusedAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, relay.Config{})
		w.endRelay()
		_, resp, err := w.connect("127.0.0.1:1", nil)
		if err == nil || resp == nil || resp.StatusCode != 503 {
			t.Errorf("got %v, %v", resp, err)
		}
		w.stop()
	})
}

// TestDeadClient: a client that answers no ping is given up, one that answers is kept.
func TestDeadClient(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.dialIdle(t)
		alive := w.dial(t)
		defer alive.close()
		alive.send(t, `["REQ","a",{"limit":0}]`)
		alive.expect(t, `["EOSE","a"]`)
		time.Sleep(80 * time.Second)
		if n := w.relay.Stats().Sessions; n != 2 {
			t.Fatalf("%d sessions after 80 s", n)
		}
		time.Sleep(30 * time.Second)
		if n := w.relay.Stats().Sessions; n != 1 {
			t.Errorf("%d sessions after 110 s", n)
		}
		time.Sleep(24 * time.Hour)
		alive.send(t, `["REQ","a",{"limit":0}]`)
		alive.expect(t, `["EOSE","a"]`)
	})
}

// TestPatientPing: a reader that waits for the door reads no pong, and its client is not dead for that.
func TestPatientPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, relay.Config{})
		defer w.stop()
		w.put(t, announcement())
		release := w.blockDoor(t)
		c := w.dial(t)
		defer c.close()
		events := several(1100, 20) // more than the door has places, no more than the connection holds besides
		for _, e := range events {
			c.send(t, string(nostr.AppendEventMsg(nil, e)))
		}
		time.Sleep(10 * time.Minute)
		release()
		for _, e := range events {
			c.expect(t, string(nostr.AppendOK(nil, e.ID, true, "")))
		}
	})
}

// TestClientLeaves: however a client leaves, nothing of its session stays.
func TestClientLeaves(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		for _, leave := range []func(c *client) error{
			func(c *client) error { return c.conn.CloseNow() },
			func(c *client) error { return c.conn.Close(websocket.StatusNormalClosure, "bye") },
			func(c *client) error {
				return c.conn.Write(context.Background(), websocket.MessageText, make([]byte, 20<<20))
			},
		} {
			c := w.dial(t)
			c.send(t, `["REQ","a",{"kinds":[1,2,3],"limit":0},{"#t":["x","y"]}]`)
			c.expect(t, `["EOSE","a"]`)
			c.send(t, `["NEG-OPEN","n",{},"61"]`)
			c.expect(t, `["NEG-MSG","n","61"]`)
			if w.relay.Indexed() == 0 {
				t.Error("nothing is indexed")
			}
			err := leave(c)
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Log(err)
			}
			time.Sleep(time.Second)
			if st := w.relay.Stats(); st != (relay.Stats{}) {
				t.Errorf("left behind: %+v", st)
			}
			if left, n := w.relay.FilterBytes(), w.relay.Indexed(); left != 512<<20 || n != 0 {
				t.Errorf("%d bytes left for filters, %d places in the index", left, n)
			}
			c.close()
		}
	})
}

// TestFilterMemory: what all sessions may hold in filters is bounded.
func TestFilterMemory(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		defer w.relay.LeaveFilterBytes(2500)() // two of the REQs below
		c := w.dial(t)
		defer c.close()
		const req = `["REQ","a",{"kinds":[1,2,3],"limit":0}]`
		for range 5 {
			c.send(t, req) // each replaces the one before
			c.expect(t, `["EOSE","a"]`)
		}
		other := w.dial(t)
		other.send(t, req)
		other.expect(t, `["EOSE","a"]`)
		other.send(t, `["REQ","b",{"kinds":[1,2,3],"limit":0}]`)
		other.expect(t, `["CLOSED","b","rate-limited: this relay holds as many filters as it can; try again later"]`)
		other.close()
		time.Sleep(time.Second)
		c.send(t, `["REQ","b",{"kinds":[1,2,3],"limit":0}]`)
		c.expect(t, `["EOSE","b"]`)
	})
}

// TestFilterMemoryOfConnection: so is what one connection may hold.
func TestFilterMemoryOfConnection(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		c := w.dial(t)
		defer c.close()
		var filters strings.Builder
		for n := range 10_000 {
			switch {
			case n == 0:
				filters.WriteString(`,{"limit":0,"#t":[`)
			case n%500 == 0:
				filters.WriteString(`]},{"limit":0,"#t":[`)
			default:
				filters.WriteString(",")
			}
			fmt.Fprintf(&filters, "%q", fmt.Sprint(n))
		}
		open := func() (ok int) {
			for n := range 40 {
				c.send(t, fmt.Sprintf(`["REQ","%d"%s]}]`, n, filters.String()))
				switch got := c.read(t); got {
				case fmt.Sprintf(`["EOSE","%d"]`, n):
					ok++
				case fmt.Sprintf(`["CLOSED","%d","blocked: too many subscriptions: their filters fill the memory set aside for a connection, close one first"]`, n):
				default:
					t.Fatalf("unexpected %.200s", got)
				}
			}
			return ok
		}
		first := open()
		if first < 10 || first > 38 {
			t.Errorf("%d REQs of 10,000 values were taken", first)
		}
		for n := range 40 {
			c.send(t, fmt.Sprintf(`["CLOSE","%d"]`, n))
		}
		if again := open(); again != first {
			t.Errorf("%d after all were closed, %d before", again, first)
		}
	})
}
