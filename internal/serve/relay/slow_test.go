package relay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
)

// several makes issues that differ in their text, which has that size.
func several(n, size int) []*nostr.Event {
	events := make([]*nostr.Event, n)
	for i := range events {
		events[i] = issue(time.Now().Unix()-int64(n)+int64(i), fmt.Sprintf("%0*d", size, i))
	}
	return events
}

// events reads events of one subscription, and what comes between them, until as many events as that have come.
func (c *client) events(t *testing.T, sub string, n int) (events []*nostr.Event, others []string) {
	t.Helper()
	for len(events) < n {
		frame := c.read(t)
		if m, ok := parse(t, frame).(nostr.RelayEvent); ok && m.Sub == sub {
			events = append(events, m.Event)
			continue
		}
		others = append(others, frame)
	}
	return events, others
}

func sameEvents(t *testing.T, what string, got, want []*nostr.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d events, want %d", what, len(got), len(want))
	}
	for i, e := range got {
		if e.ID != want[i].ID {
			t.Fatalf("%s: event %d is %.20q, want %.20q", what, i, e.Content, want[i].Content)
		}
	}
}

// TestSlowReaderCatchesUp: far more live events than a session's queue holds reach a client that stops reading for a while,
// each once and in their order.
func TestSlowReaderCatchesUp(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		c.send(t, `["REQ","odd",{"#t":["odd"]}]`)
		synctest.Wait()
		all := several(5000/min(slower, 2), 100)
		for i := 1; i < len(all); i += 2 {
			all[i] = issue(all[i].CreatedAt, all[i].Content, nostr.Tag{"t", "odd"})
		}
		w.put(t, all...)
		c.resume()
		seen := map[string][]*nostr.Event{}
		for len(seen["a"])+len(seen["odd"]) < len(all)*3/2 {
			frame := c.read(t)
			if m, ok := parse(t, frame).(nostr.RelayEvent); ok {
				seen[m.Sub] = append(seen[m.Sub], m.Event)
			}
		}
		sameEvents(t, "all", seen["a"], all)
		var odd []*nostr.Event
		for i := 1; i < len(all); i += 2 {
			odd = append(odd, all[i])
		}
		sameEvents(t, "odd ones", seen["odd"], odd)
		last := issue(time.Now().Unix(), "live again")
		w.put(t, last)
		c.expect(t, string(nostr.AppendRelayEvent(nil, "a", last.AppendJSON(nil))))
		c.idle(t, time.Second)
	})
}

// TestSlowReaderDuringScan: events that come while the stored part waits for the client follow its EOSE, all of them.
func TestSlowReaderDuringScan(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		all := several(4000/min(slower, 2), 500)
		stored, live := all[:400], all[400:]
		w.put(t, stored...)
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		synctest.Wait()
		w.put(t, live...)
		c.resume()
		got, others := c.events(t, "a", 400)
		if len(others) > 0 {
			t.Fatalf("among stored events: %.200s", others)
		}
		for i := range got {
			if got[i].ID != stored[len(stored)-1-i].ID {
				t.Fatalf("stored event %d is %.20q", i, got[i].Content)
			}
		}
		c.expect(t, `["EOSE","a"]`)
		got, others = c.events(t, "a", len(live))
		if len(others) > 0 {
			t.Fatalf("among live events: %.200s", others)
		}
		sameEvents(t, "live", got, live)
		c.idle(t, time.Second)
	})
}

// TestTooSlow: a client that falls behind further than the bound is told so and sent away.
func TestTooSlow(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.relay.SetMaxLag(500)
		w.put(t, announcement())
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		synctest.Wait()
		w.put(t, several(5000/min(slower, 2), 100)...)
		c.resume()
		var last string
		for {
			frame, err := c.next(time.Minute)
			if err == nil {
				last = frame
				continue
			}
			if websocket.CloseStatus(err) != websocket.StatusTryAgainLater || !strings.HasPrefix(reason(err), "too slow") {
				t.Errorf("closed by %v", err)
			}
			break
		}
		if last != `["CLOSED","a","error: too slow: live events have piled up; connect again"]` {
			t.Errorf("the last frame is %.200s", last)
		}
		synctest.Wait()
		if n := w.relay.Traffic().TooSlow; n != 1 {
			t.Errorf("%d sessions are counted as too slow", n)
		}
	})
}

// TestStuckReader: a client that takes nothing for the write timeout loses its connection.
func TestStuckReader(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		synctest.Wait()
		w.put(t, several(2000, 100)...)
		time.Sleep(19 * time.Second)
		if n := w.relay.Stats().Sessions; n != 1 {
			t.Fatalf("%d sessions before the timeout", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := w.relay.Stats().Sessions; n != 0 {
			t.Errorf("%d sessions after the timeout", n)
		}
	})
}

// TestCloseDuringScan: a CLOSE is seen in the middle of a long answer.
func TestCloseDuringScan(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(400, 2000)...)
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		synctest.Wait()
		c.send(t, `["CLOSE","a"]`)
		c.send(t, `["REQ","b",{"limit":0}]`)
		synctest.Wait()
		c.resume()
		n := 0
		for frame := c.read(t); frame != `["EOSE","b"]`; frame = c.read(t) {
			if _, ok := parse(t, frame).(nostr.RelayEvent); !ok {
				t.Fatalf("unexpected %.200s", frame)
			}
			n++
		}
		if n == 0 || n > 60 { // what was on its way
			t.Errorf("%d of 400 events came after all", n)
		}
		c.idle(t, time.Second)
		if n := w.relay.Indexed(); n != 1 {
			t.Errorf("%d places in the index, want that of b only", n)
		}
	})
}

// TestReplaceDuringScan: a REQ that replaces another in the middle of its answer leaves one EOSE, after which nothing of the
// old one comes.
func TestReplaceDuringScan(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		ann := announcement()
		w.put(t, ann)
		w.put(t, several(400, 2000)...)
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		synctest.Wait()
		for range 100 {
			c.send(t, `["REQ","a",{"kinds":[30617]}]`)
		}
		synctest.Wait()
		if n := w.relay.Waiting(); n != 1 {
			t.Errorf("%d subscriptions wait for their stored events, want the last only", n)
		}
		c.resume()
		var before string
		for frame := c.read(t); frame != `["EOSE","a"]`; frame = c.read(t) {
			before = frame
		}
		if before != string(nostr.AppendRelayEvent(nil, "a", ann.AppendJSON(nil))) {
			t.Errorf("before EOSE: %.200s", before)
		}
		w.put(t, issue(time.Now().Unix(), "not asked for any more"))
		c.idle(t, time.Second)
	})
}

// TestOthersDuringScan: neither an OK nor another answer waits for the end of a long answer on the same connection, nor do
// live events for another subscription.
func TestOthersDuringScan(t *testing.T) {
	e := issue(946_684_700, "mine") // a bubble begins 100 s later
	for what, c := range map[string]struct {
		frame, want string
	}{
		"an OK":        {frame: string(nostr.AppendEventMsg(nil, e)), want: string(nostr.AppendOK(nil, e.ID, true, ""))},
		"an answer":    {frame: `["COUNT","n",{"kinds":[30617]}]`, want: `["COUNT","n",{"count":1}]`},
		"a live event": {want: string(nostr.AppendRelayEvent(nil, "live", e.AppendJSON(nil)))},
	} {
		inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
			w.put(t, announcement())
			w.put(t, several(400, 2000)...)
			client := w.dialIdle(t)
			if c.frame == "" {
				client.send(t, `["REQ","live",{"kinds":[1621],"limit":0}]`)
			}
			client.send(t, `["REQ","long",{"kinds":[1621]}]`)
			synctest.Wait()
			if c.frame != "" {
				client.send(t, c.frame)
			} else {
				w.put(t, e)
			}
			synctest.Wait()
			client.resume()
			for n := 0; client.read(t) != c.want; n++ {
				if n > 200 {
					t.Fatalf("%s comes after more than %d frames", what, n)
				}
			}
		})
	}
}

// dialIdle is a client that reads nothing until it is told to.
func (w *world) dialIdle(t *testing.T) *client {
	t.Helper()
	return w.dialIdleFrom(t, "127.0.0.1:9999")
}

func (w *world) dialIdleFrom(t *testing.T, addr string) *client {
	t.Helper()
	conn, _, err := w.connect(addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(conn)
	t.Cleanup(c.close)
	return c
}

// resume begins to read.
func (c *client) resume() { go c.pump() }

// TestCloseDuringLive: live events that wait for a client are not sent after its CLOSE.
func TestCloseDuringLive(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		synctest.Wait()
		w.put(t, several(800, 300)...)
		c.send(t, `["CLOSE","a"]`)
		synctest.Wait()
		c.resume()
		n := 0
		for c.more(time.Second) {
			n++
		}
		if n == 0 || n > 300 {
			t.Errorf("%d of 800 events came after all", n)
		}
	})
}

// more reads a frame and reports whether one came.
func (c *client) more(wait time.Duration) bool {
	_, err := c.next(wait)
	return err == nil
}

// TestDispatcherBehind: where the dispatcher comes to events that a lagging session has read from the store by itself, they
// are not sent again.
func TestDispatcherBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := assemble(t, settings{})
		defer w.stop()
		dispatch := func() (stop func()) {
			ctx, cancel := context.WithCancel(context.Background())
			var running sync.WaitGroup
			running.Go(func() {
				if err := w.relay.Dispatch(ctx); err != nil {
					t.Error(err)
				}
			})
			return func() {
				cancel()
				running.Wait()
			}
		}
		stop := dispatch()
		w.put(t, announcement())
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		synctest.Wait()
		all := several(2000+2*relay.LiveTurn, 100)
		dispatched := 2000
		w.put(t, all[:dispatched]...)
		synctest.Wait()
		// The session reads whole turns. The dispatcher stops in the middle of one, so the session reads on beyond it.
		for ; w.relay.Behind()%relay.LiveTurn != relay.LiveTurn/2; dispatched++ {
			w.put(t, all[dispatched])
			synctest.Wait()
		}
		stop()
		w.put(t, all[dispatched:]...)
		c.resume()
		c.expect(t, `["EOSE","a"]`)
		alone := dispatched + relay.LiveTurn/2
		first, _ := c.events(t, "a", alone)
		c.idle(t, time.Second)
		w.startRelay()
		rest, _ := c.events(t, "a", len(all)-alone)
		sameEvents(t, "all", append(first, rest...), all)
		c.idle(t, time.Second)
	})
}

// TestEndlessScan: a client that takes minutes for the stored events does not hold the store's state of long ago for ever.
func TestEndlessScan(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(400, 2000)...)
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		c.resume()
		start := time.Now()
		for {
			frame := c.read(t)
			if m, ok := parse(t, frame).(nostr.Closed); ok {
				if m.Sub != "a" || m.Reason != "error: sending the stored events took too long; ask for less" {
					t.Errorf("closed: %s", frame)
				}
				break
			}
			time.Sleep(2 * time.Second)
		}
		if took := time.Since(start); took < 5*time.Minute || took > 8*time.Minute {
			t.Errorf("after %v", took)
		}
		c.send(t, `["REQ","a",{"limit":0}]`)
		c.expect(t, `["EOSE","a"]`)
	})
}

// TestOpenWhileLagging: a subscription that is opened while its session lags shows nothing twice.
func TestOpenWhileLagging(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		synctest.Wait()
		all := several(3000, 100)
		w.put(t, all...)
		c.send(t, `["REQ","b",{"kinds":[1621]}]`)
		c.resume()
		seen := map[string]map[nostr.ID]bool{"a": {}, "b": {}}
		for n := 0; n < len(all)+500; {
			if m, ok := parse(t, c.read(t)).(nostr.RelayEvent); ok {
				if seen[m.Sub][m.Event.ID] {
					t.Fatalf("%s shows %.20q twice", m.Sub, m.Event.Content)
				}
				seen[m.Sub][m.Event.ID] = true
				n++
			}
		}
		if len(seen["a"]) != len(all) || len(seen["b"]) != 500 {
			t.Errorf("a shows %d, b %d", len(seen["a"]), len(seen["b"]))
		}
		for c.more(time.Second) {
			t.Error("more than there is")
		}
	})
}

// TestPingWhileStalled: a client that pings while it takes nothing is not cut off for the pong that cannot be sent.
func TestPingWhileStalled(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		all := several(400, 2000)
		w.put(t, all...)
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		time.Sleep(2 * time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := c.conn.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("ping: %v", err)
		}
		time.Sleep(10 * time.Second)
		c.resume()
		c.events(t, "a", len(all))
		c.expect(t, `["EOSE","a"]`)
		if err := c.conn.Ping(context.Background()); err != nil {
			t.Errorf("ping once the client reads: %v", err)
		}
	})
}

// TestAPongIsOwedAtTheEnd: a client that pings while it takes nothing, and leaves, leaves nothing behind.
func TestAPongIsOwedAtTheEnd(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(400, 2000)...)
		c := w.dialIdle(t)
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		if err := c.conn.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("ping: %v", err)
		}
		c.conn.CloseNow()
		synctest.Wait()
	})
}
