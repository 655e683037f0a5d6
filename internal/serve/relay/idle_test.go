package relay_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestQuietClientIsSentAway: who has nothing open and asks for nothing loses the
// connection, with a reason; a subscription, or a message now and then, keeps it.
func TestQuietClientIsSentAway(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		quiet, open, busy := w.dial(t), w.dial(t), w.dial(t)
		defer open.close()
		defer busy.close()
		open.send(t, `["REQ","a",{"kinds":[1621],"limit":0}]`)
		open.expect(t, `["EOSE","a"]`)
		began := time.Now()
		for range 4 {
			time.Sleep(20 * time.Minute)
			busy.send(t, `["CLOSE","x"]`)
		}
		for {
			_, err := quiet.next(time.Minute)
			if err == nil {
				continue
			}
			if websocket.CloseStatus(err) != websocket.StatusNormalClosure || !strings.HasPrefix(reason(err), "idle: ") {
				t.Errorf("closed by %v", err)
			}
			break
		}
		synctest.Wait()
		if n, left := w.relay.Traffic().TooQuiet, w.relay.Stats().Sessions; n != 1 || left != 2 {
			t.Errorf("after %v %d clients are counted as idle, %d are left", time.Since(began), n, left)
		}
	})
}

// TestTrafficIsCounted: what comes, what goes, and what is refused before the door.
func TestTrafficIsCounted(t *testing.T) {
	rates, limits := front.Rates{Connections: 1, Events: 1}, relay.Limits{EventBytes: 1000}
	inWorldAt(t, rates, limits, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c := w.dialFrom(t, "198.51.100.1:1")
		defer c.close()
		c.send(t, `["REQ","a",{}]`)
		c.expect(t, string(nostr.AppendRelayEvent(nil, "a", announcement().AppendJSON(nil))))
		c.expect(t, `["EOSE","a"]`)
		large := issue(time.Now().Unix(), strings.Repeat("x", 1000))
		c.send(t, string(nostr.AppendEventMsg(nil, large)))
		c.expect(t, string(nostr.AppendOK(nil, large.ID, false, "invalid: event larger than 1000 bytes; shorten it")))
		synctest.Wait()
		got := w.relay.Traffic()
		if got.Taken != 1 || got.Frames != 2 || got.Events != 1 || got.Refused != 1 || got.RateLimited != 0 || got.BytesIn < 1000 || got.BytesOut < 500 {
			t.Errorf("counted %+v", got)
		}
	})
}

// TestWhoReconcilesIsNotIdle: an open reconciliation keeps the connection until it ends itself.
func TestWhoReconcilesIsNotIdle(t *testing.T) {
	inWorld(t, relay.Limits{Idle: time.Minute}, func(t *testing.T, w *world) {
		c := w.dial(t)
		defer c.close()
		c.send(t, `["NEG-OPEN","n",{},"61"]`)
		c.expect(t, `["NEG-MSG","n","61"]`)
		c.idle(t, 115*time.Second)
		if frame, err := c.next(time.Minute); frame != `["NEG-ERR","n","closed: idle for too long; open it again"]` {
			t.Errorf("got %s, %v", frame, err)
		}
		if _, err := c.next(2 * time.Minute); !strings.HasPrefix(reason(err), "idle: ") {
			t.Errorf("closed by %v", err)
		}
	})
}
