package relay_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/test/testkit"
)

// circle is the people by number for whom a relay is.
type circle struct {
	mu   sync.Mutex
	keys map[nostr.PubKey]bool
	then func() // called once somebody was found to be a member
}

func circleOf(people ...int) *circle {
	c := &circle{}
	c.set(people...)
	return c
}

func (c *circle) set(people ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = map[nostr.PubKey]bool{}
	for _, n := range people {
		c.keys[testkit.Key(n).PubKey()] = true
	}
}

func (c *circle) Has(pk nostr.PubKey) bool {
	c.mu.Lock()
	has, then := c.keys[pk], c.then
	c.then = nil
	c.mu.Unlock()
	if has && then != nil {
		then()
	}
	return has
}

func inPrivateWorld(t *testing.T, c *circle, test func(t *testing.T, w *world)) {
	t.Helper()
	inWorldOf(t, relay.Config{Members: c}, test)
}

// asking is one of each message that reads, writes or goes on with something, and the beginning of what strangers hear.
func asking() map[string]string {
	const why = `auth-required: this relay is private`
	e := issue(time.Now().Unix(), "news")
	return map[string]string{
		string(nostr.AppendEventMsg(nil, e)):                         `["OK","` + e.ID.String() + `",false,"` + why,
		`["REQ","a",{}]`:                                             `["CLOSED","a","` + why,
		`["REQ","a",{"search":"d"}]`:                                 `["CLOSED","a","` + why,
		`["REQ","a",{"ids":["` + announcement().ID.String() + `"]}]`: `["CLOSED","a","` + why,
		`["COUNT","a",{}]`:                                           `["CLOSED","a","` + why,
		`["NEG-OPEN","a",{},"6100000200"]`:                           `["NEG-ERR","a","` + why,
		`["NEG-MSG","a","6100000200"]`:                               `["NEG-ERR","a","` + why,
	}
}

// TestStrangersReadAndWriteNothing of a private relay, by whatever message, before and after they have shown a key that is no member's;
// nothing live comes either.
func TestStrangersReadAndWriteNothing(t *testing.T) {
	inPrivateWorld(t, circleOf(1), func(t *testing.T, w *world) {
		w.put(t, announcement())
		head := w.store.Head()
		c := w.dial(t)
		defer c.close()
		for range 2 {
			for msg, want := range asking() {
				c.send(t, msg)
				if got := c.read(t); !strings.HasPrefix(got, want) {
					t.Errorf("%s: %s\nwant %s", msg, got, want)
				}
			}
			if got := w.store.Head(); got != head {
				t.Fatalf("something was stored: %d, before %d", got, head)
			}
			w.put(t, issue(time.Now().Unix(), "live "+time.Now().String()))
			head++
			for _, msg := range []string{`["CLOSE","a"]`, `["NEG-CLOSE","a"]`} {
				c.send(t, msg)
			}
			c.idle(t, time.Second)
			e := genuine(2)
			c.send(t, authMsg(e))
			c.expect(t, string(nostr.AppendOK(nil, e.ID, false, "restricted: this relay is private, and this key is no member's")))
		}
		if st := w.relay.Stats(); st.Subscriptions+st.Reconciliations > 0 {
			t.Errorf("%+v", st)
		}
	})
}

// TestMembersReadAndWrite like everybody elsewhere, once they have authenticated; a stranger's key besides changes nothing.
func TestMembersReadAndWrite(t *testing.T) {
	inPrivateWorld(t, circleOf(1), func(t *testing.T, w *world) {
		w.put(t, announcement())
		c := w.dial(t)
		defer c.close()
		c.authenticate(t, 1)
		e := genuine(2)
		c.send(t, authMsg(e))
		if got := c.read(t); !strings.Contains(got, `false,"restricted: `) {
			t.Errorf("a stranger's key: %s", got)
		}
		c.send(t, `["REQ","a",{}]`)
		if got := c.read(t); !strings.HasPrefix(got, `["EVENT","a",`) {
			t.Errorf("%s", got)
		}
		c.expect(t, `["EOSE","a"]`)
		news := issue(time.Now().Unix(), "news")
		c.send(t, string(nostr.AppendEventMsg(nil, news)))
		for range 2 {
			if got := c.read(t); !strings.HasPrefix(got, `["OK","`+news.ID.String()+`",true`) && !strings.HasPrefix(got, `["EVENT","a",`) {
				t.Errorf("%s", got)
			}
		}
		c.send(t, `["COUNT","b",{}]`)
		c.expect(t, `["COUNT","b",{"count":2}]`)
		c.send(t, `["NEG-OPEN","c",{},"6100000200"]`)
		if got := c.read(t); !strings.HasPrefix(got, `["NEG-MSG","c",`) {
			t.Errorf("%s", got)
		}
	})
}

// TestMembershipEndsSubscriptions: at once, with a word, for those alone who are members no more; whoever shows two keys and loses one
// has to connect again.
func TestMembershipEndsSubscriptions(t *testing.T) {
	people := circleOf(1, 2, 3)
	inPrivateWorld(t, people, func(t *testing.T, w *world) {
		w.put(t, announcement())
		open := func(keys ...int) *client {
			c := w.dial(t)
			for _, n := range keys {
				c.authenticate(t, n)
				c.authenticate(t, n)
			}
			c.send(t, `["REQ","live",{"limit":0}]`)
			c.expect(t, `["EOSE","live"]`)
			return c
		}
		stays, leaves, half := open(1), open(2), open(1, 2)
		defer stays.close()
		defer leaves.close()
		defer half.close()
		w.relay.Expel()
		synctest.Wait()
		if n := w.relay.Stats().Sessions; n != 3 {
			t.Fatalf("%d sessions are left though nobody's membership has ended", n)
		}
		people.set(1, 3)
		w.relay.Expel()
		w.put(t, issue(time.Now().Unix(), "after"))
		for _, c := range []*client{leaves, half} {
			if got := c.read(t); !strings.HasPrefix(got, `["CLOSED","live","error: this relay is private`) {
				t.Errorf("%s", got)
			}
			_, err := c.next(time.Minute)
			if websocket.CloseStatus(err) != websocket.StatusPolicyViolation || !strings.Contains(reason(err), "no member's any more") {
				t.Errorf("%v", err)
			}
		}
		if got := stays.read(t); !strings.HasPrefix(got, `["EVENT","live",`) {
			t.Errorf("who is a member still: %s", got)
		}
		again := w.dial(t)
		defer again.close()
		again.send(t, authMsg(genuine(2)))
		if got := again.read(t); !strings.Contains(got, `false,"restricted: `) {
			t.Errorf("%s", got)
		}
	})
}

// TestMembershipEndsWhileSomebodyAuthenticates: between the look at who is a member and the note of it.
func TestMembershipEndsWhileSomebodyAuthenticates(t *testing.T) {
	people := circleOf(1)
	inPrivateWorld(t, people, func(t *testing.T, w *world) {
		c := w.dial(t)
		defer c.close()
		people.mu.Lock()
		people.then = func() { people.set(); w.relay.Expel() }
		people.mu.Unlock()
		c.send(t, authMsg(genuine(1)))
		for {
			if _, err := c.next(time.Minute); err != nil {
				if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
					t.Error(err)
				}
				return
			}
		}
	})
}

// TestWhoDoesNotReadIsSentAwayToo: their connection is cut when they do not take the goodbye.
func TestWhoDoesNotReadIsSentAwayToo(t *testing.T) {
	people := circleOf(1)
	inPrivateWorld(t, people, func(t *testing.T, w *world) {
		w.put(t, announcement())
		for i := range 200 {
			w.put(t, issue(time.Now().Unix(), strings.Repeat("x", 20_000)+string(rune('a'+i%26))+time.Duration(i).String()))
		}
		conn, _, err := w.connect("127.0.0.1:9999", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		if _, _, err := conn.Read(context.Background()); err != nil { // the challenge
			t.Fatal(err)
		}
		for _, msg := range []string{authMsg(genuine(1)), `["REQ","a",{}]`} {
			if err := conn.Write(context.Background(), websocket.MessageText, []byte(msg)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		people.set()
		w.relay.Expel()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if n := w.relay.Stats().Sessions; n != 0 {
			t.Errorf("%d sessions", n)
		}
	})
}
