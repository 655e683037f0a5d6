package relay_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestRequestRate: whoever asks for more than the rate is answered as fast as the rate allows, and refused nothing.
func TestRequestRate(t *testing.T) {
	for name, request := range map[string]struct{ frame, answer string }{
		"binary":    {"\x00", `["NOTICE","invalid: binary messages are not understood; send text"]`},
		"too large": {`["WHAT","` + strings.Repeat("x", 2000) + `"]`, `["NOTICE","invalid: message too large: at most 2000 bytes"]`},
		"REQ":       {`["REQ","a",{"limit":0}]`, `["EOSE","a"]`},
		"COUNT":     {`["COUNT","a",{"kinds":[]}]`, `["COUNT","a",{"count":0}]`},
		"NEG-OPEN":  {`["NEG-OPEN","a",{"kinds":[]},"61"]`, `["NEG-MSG","a","61"]`},
		"NEG-MSG":   {`["NEG-MSG","a","61"]`, `["NEG-ERR","a","closed: no reconciliation is open under this id"]`},
		"AUTH":      {`["AUTH",{"id":"` + strings.Repeat("ab", 32) + `"}]`, `*`},
		"EVENT":     {`["EVENT",{"id":"` + strings.Repeat("ab", 32) + `"}]`, `*`},
		"nonsense":  {`hello`, `*`},
	} {
		t.Run(name, func(t *testing.T) {
			inWorldAt(t, front.Rates{Requests: 10}, relay.Limits{MessageBytes: 2000}, func(t *testing.T, w *world) {
				c, near, far, local := w.dialFrom(t, stranger), w.dialFrom(t, stranger), w.dialFrom(t, "198.51.100.2:1"), w.dial(t)
				for _, one := range []*client{c, near, far, local} {
					defer one.close()
				}
				ask := func(c *client, n int) time.Duration {
					t.Helper()
					start := time.Now()
					for range n {
						if name == "binary" {
							c.conn.Write(context.Background(), websocket.MessageBinary, []byte(request.frame))
						} else {
							c.send(t, request.frame)
						}
						if got := c.read(t); request.answer != "*" && got != request.answer {
							t.Fatalf("got %s", got)
						}
					}
					return time.Since(start)
				}
				if took := ask(c, 100); took > time.Second/100 {
					t.Errorf("the burst took %v", took)
				}
				if took := ask(c, 50); took < 4900*time.Millisecond || took > 5100*time.Millisecond {
					t.Errorf("50 more took %v", took)
				}
				if took := ask(near, 10); took < 900*time.Millisecond || took > 1100*time.Millisecond {
					t.Errorf("10 more on another connection took %v", took)
				}
				if took := ask(far, 100) + ask(local, 500); took > time.Second/100 {
					t.Errorf("requests from elsewhere took %v", took)
				}
			})
		})
	}
}

// TestEventsAreNoRequests: events that are taken have a rate of their own; those that are refused for it slow their client down.
func TestEventsAreNoRequests(t *testing.T) {
	inWorldAt(t, front.Rates{Requests: 1, Events: 5}, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c := w.dialFrom(t, stranger)
		defer c.close()
		start := time.Now()
		for i, e := range several(60, 20) {
			if ok := c.publish(t, e); ok.OK != (i < 50) {
				t.Fatalf("event %d: %+v", i, ok)
			}
		}
		if took := time.Since(start); took > time.Second/10 {
			t.Errorf("50 events and 10 refusals took %v", took)
		}
		if ok := c.publish(t, issue(time.Now().Unix(), "one refusal more")); ok.OK {
			t.Error("taken")
		}
		if took := time.Since(start); took < 900*time.Millisecond {
			t.Errorf("after %v", took)
		}
	})
}

// TestWorkIsPaidFor: what the store has to do for a request counts like more requests, also on the other connections of the
// address.
func TestWorkIsPaidFor(t *testing.T) {
	for name, request := range map[string]struct{ frame, last string }{
		"REQ":      {`["REQ","a",{"kinds":[1621],"limit":1,"#t":["x"],"#r":["y"]}]`, `["EOSE","a"]`},
		"COUNT":    {`["COUNT","a",{}]`, `["COUNT","a",{"count":2001}]`},
		"NEG-OPEN": {`["NEG-OPEN","a",{},"61"]`, `["NEG-MSG","a","61"]`},
	} {
		t.Run(name, func(t *testing.T) {
			inWorldAt(t, front.Rates{Requests: 1}, relay.Limits{}, func(t *testing.T, w *world) {
				w.put(t, announcement())
				all := several(2000, 20)
				for i := range all {
					// No event has both tags, which the indexes tell only one by one.
					all[i] = issue(all[i].CreatedAt, all[i].Content, [2]nostr.Tag{{"t", "x"}, {"r", "y"}}[i%2])
				}
				w.put(t, all...)
				c, other := w.dialFrom(t, stranger), w.dialFrom(t, stranger)
				defer c.close()
				defer other.close()
				start := time.Now()
				const times = 20
				for range times {
					c.send(t, request.frame)
					for c.read(t) != request.last {
					}
				}
				other.send(t, `["REQ","b",{"kinds":[]}]`)
				other.expect(t, `["EOSE","b"]`)
				took := time.Since(start)
				// Twenty requests alone are ten more than the burst; the work is about as much again or more.
				if took < 14*time.Second || took > time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestCostlyREQ: the stored part of a REQ ends where its work is too much, with a reason.
func TestCostlyREQ(t *testing.T) {
	inWorld(t, relay.Limits{ScanWork: 1000}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(400, 20)...)
		c := w.dial(t)
		defer c.close()
		c.send(t, `["REQ","a",{"kinds":[1621]}]`)
		for {
			m := parse(t, c.read(t))
			if _, ok := m.(nostr.RelayEvent); ok {
				continue
			}
			if closed, ok := m.(nostr.Closed); !ok || closed.Reason != "error: finding the stored events takes too much work; ask for less" {
				t.Errorf("got %+v", m)
			}
			break
		}
		c.send(t, `["NEG-OPEN","within",{},"61"]`)
		c.expect(t, `["NEG-MSG","within","61"]`)
		w.put(t, several(1200, 30)...)
		c.send(t, `["NEG-OPEN","n",{},"61"]`)
		c.expect(t, `["NEG-ERR","n","blocked: too many query results",1000000]`)
		if st := w.relay.Stats(); st.Reconciliations != 1 {
			t.Errorf("%d reconciliations are open", st.Reconciliations)
		}
	})
}

// TestTurnsOfAnAddress: however many clients of one address wait for a COUNT or a set, those of others wait for one of them.
func TestTurnsOfAnAddress(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		release := w.relay.HoldCounters()
		var flood []*client
		for range 20 {
			c := w.dialFrom(t, stranger)
			defer c.close()
			c.send(t, `["COUNT","c",{}]`)
			flood = append(flood, c)
		}
		synctest.Wait()
		other := w.dialFrom(t, "198.51.100.2:1")
		defer other.close()
		other.send(t, `["COUNT","c",{}]`)
		synctest.Wait()
		if n := w.turns(); n != 2 {
			t.Errorf("%d clients have their turn, want one of each address", n)
		}
		release()
		other.expect(t, `["COUNT","c",{"count":0}]`)
		for _, c := range flood {
			c.expect(t, `["COUNT","c",{"count":0}]`)
		}
	})
}

// TestTurnsOfANetwork: the addresses of one IPv6 /48 have a few turns together. Who is sent away while it waits for one leaves
// the turn of its address.
func TestTurnsOfANetwork(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		release := w.relay.HoldCounters()
		for n := range 10 {
			c := w.dialFrom(t, fmt.Sprintf("[2001:db8:1:%d::1]:1", n))
			defer c.close()
			c.send(t, `["COUNT","c",{}]`)
		}
		synctest.Wait()
		if n := w.networkTurns(); n != 4 {
			t.Errorf("%d clients have the turn of their network", n)
		}
		w.endRelay()
		release()
	})
}
