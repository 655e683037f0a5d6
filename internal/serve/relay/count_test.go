package relay_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/serve/relay"
)

// TestCostlyCount: a COUNT is exact or refused, never cut short.
func TestCostlyCount(t *testing.T) {
	inWorld(t, relay.Limits{CountWork: 400}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(300, 20)...)
		c := w.dial(t)
		defer c.close()
		c.send(t, `["COUNT","few",{"kinds":[1621]}]`)
		c.expect(t, `["COUNT","few",{"count":300}]`)
		w.put(t, several(200, 21)...)
		c.send(t, `["COUNT","many",{"kinds":[1621]}]`)
		c.expect(t, `["CLOSED","many","blocked: counting this takes too much work; ask for less"]`)
		c.send(t, `["COUNT","fewer",{"kinds":[30617]}]`)
		c.expect(t, `["COUNT","fewer",{"count":1}]`)
	})
}

// TestCountsTakeTurns: only so many are worked on at once. Those that wait hold up their own client alone, and a client that
// leaves while it waits leaves nothing behind.
func TestCountsTakeTurns(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		release := w.relay.HoldCounters()
		waits, leaves, other := w.dial(t), w.dial(t), w.dial(t)
		defer waits.close()
		defer other.close()
		waits.send(t, `["COUNT","c",{}]`)
		leaves.send(t, `["COUNT","c",{}]`)
		other.send(t, `["REQ","r",{"limit":0}]`)
		other.expect(t, `["EOSE","r"]`)
		waits.idle(t, time.Second)
		leaves.close()
		time.Sleep(5 * time.Minute) // its reader waits too, and sees that it has gone when it has had its turn
		release()
		waits.expect(t, `["COUNT","c",{"count":0}]`)
		synctest.Wait()
		if st := w.relay.Stats(); st.Sessions != 2 {
			t.Errorf("%d sessions", st.Sessions)
		}
		waits.send(t, `["COUNT","d",{}]`)
		waits.expect(t, `["COUNT","d",{"count":0}]`)
	})
}
