package relay_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestWhatIsWithheld: subscriptions end with a reason, further requests hear it, connections stay, events are taken, and then all is as before.
func TestWhatIsWithheld(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c := w.dial(t)
		defer c.close()
		for _, id := range []string{"a", "b"} {
			c.send(t, `["REQ","`+id+`",{"limit":0}]`)
			c.expect(t, `["EOSE","`+id+`"]`)
		}
		c.send(t, `["NEG-OPEN","n",{},"6100000200"]`)
		c.read(t)
		for range 2 { // also where it is said again
			w.relay.Withhold("error: out of touch")
		}
		c.expect(t, `["CLOSED","a","error: out of touch"]`)
		c.expect(t, `["CLOSED","b","error: out of touch"]`)
		e := issue(time.Now().Unix(), "meanwhile")
		w.put(t, e)
		for message, want := range map[string]string{
			`["REQ","a",{}]`:                   `["CLOSED","a","error: out of touch"]`,
			`["COUNT","a",{}]`:                 `["CLOSED","a","error: out of touch"]`,
			`["NEG-OPEN","n",{},"6100000200"]`: `["NEG-ERR","n","error: out of touch"]`,
			`["NEG-MSG","n","6100000200"]`:     `["NEG-ERR","n","error: out of touch"]`,
			string(nostr.AppendEventMsg(nil, issue(time.Now().Unix(), "x"))): `["OK",`,
		} {
			c.send(t, message)
			if got := c.read(t); !strings.HasPrefix(got, want) {
				t.Errorf("%.40s: %s", message, got)
			}
		}
		synctest.Wait()
		if n := w.relay.Stats(); n.Sessions != 1 || n.Subscriptions != 0 {
			t.Errorf("%+v", n)
		}
		w.relay.Withhold("")
		c.send(t, `["COUNT","a",{}]`)
		c.expect(t, `["COUNT","a",{"count":3}]`)
		c.send(t, `["REQ","a",{"limit":0}]`)
		c.expect(t, `["EOSE","a"]`)
	})
}
