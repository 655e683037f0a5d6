package relay_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/test/testkit"
)

// auth is an authentication by the nth person, signed.
func auth(n int, at time.Time, tags ...nostr.Tag) *nostr.Event {
	return testkit.Sign(testkit.Key(n), at.Unix(), nostr.KindAuth, "", tags...)
}

// genuine is one that this relay takes.
func genuine(n int) *nostr.Event {
	return auth(n, time.Now(), nostr.Tag{"relay", "wss://" + domain}, nostr.Tag{"challenge", challenge})
}

func authMsg(e *nostr.Event) string { return `["AUTH",` + string(e.AppendJSON(nil)) + `]` }

// authenticate has the nth person authenticate, which must work.
func (c *client) authenticate(t *testing.T, n int) {
	t.Helper()
	e := genuine(n)
	c.send(t, authMsg(e))
	c.expect(t, string(nostr.AppendOK(nil, e.ID, true, "")))
}

// publish sends an event and gives the answer.
func (c *client) publish(t *testing.T, e *nostr.Event) nostr.OK {
	t.Helper()
	c.send(t, string(nostr.AppendEventMsg(nil, e)))
	ok, isOK := parse(t, c.read(t)).(nostr.OK)
	if !isOK || ok.ID != e.ID {
		t.Fatalf("not the answer to the event: %+v", ok)
	}
	return ok
}

func TestAUTH(t *testing.T) {
	here, ours := nostr.Tag{"relay", "wss://" + domain}, nostr.Tag{"challenge", challenge}
	relayTag := func(url string) nostr.Tag { return nostr.Tag{"relay", url} }
	altered := func(change func(*nostr.Event)) func(time.Time) *nostr.Event {
		return func(time.Time) *nostr.Event {
			e := genuine(1).Clone()
			change(e)
			return e
		}
	}
	with := func(tags ...nostr.Tag) func(time.Time) *nostr.Event {
		return func(now time.Time) *nostr.Event { return auth(1, now, tags...) }
	}
	off := func(d time.Duration) func(time.Time) *nostr.Event {
		return func(now time.Time) *nostr.Event { return auth(1, now.Add(d), here, ours) }
	}
	tests := []struct {
		name   string
		event  func(now time.Time) *nostr.Event
		reason string // "" is OK true
	}{
		{"as it should be", with(here, ours), ""},
		{"with more tags", with(nostr.Tag{"x"}, ours, nostr.Tag{}, here), ""},
		{"slash at the end", with(relayTag("wss://"+domain+"/"), ours), ""},
		{"upper case", with(relayTag("WSS://Relay.Example.ORG"), ours), ""},
		{"without encryption", with(relayTag("ws://"+domain), ours), ""},
		{"as a web address", with(relayTag("https://"+domain), ours), ""},
		{"with its port", with(relayTag("wss://"+domain+":443"), ours), ""},
		{"another port", with(relayTag("wss://"+domain+":7777"), ours), "invalid: the relay tag"},
		{"another relay", with(relayTag("wss://evil-relay.example.org"), ours), "invalid: the relay tag"},
		{"our name in front of another", with(relayTag("wss://"+domain+".evil.example"), ours), "invalid: the relay tag"},
		{"our name as a path", with(relayTag("wss://evil.example/"+domain), ours), "invalid: the relay tag"},
		{"our name as a user", with(relayTag("wss://"+domain+"@evil.example"), ours), "invalid: the relay tag"},
		{"a path of ours", with(relayTag("wss://"+domain+"/other"), ours), "invalid: the relay tag"},
		{"no relay", with(ours), "invalid: the relay tag"},
		{"relay without a value", with(nostr.Tag{"relay"}, ours), "invalid: the relay tag"},
		{"no challenge", with(here), "invalid: the challenge tag"},
		{"challenge without a value", with(here, nostr.Tag{"challenge"}), "invalid: the challenge tag"},
		{"an empty challenge", with(here, nostr.Tag{"challenge", ""}), "invalid: the challenge tag"},
		{"another challenge", with(here, nostr.Tag{"challenge", challenge + "x"}), "invalid: the challenge tag"},
		{"ten minutes ago", off(-10 * time.Minute), ""},
		{"in ten minutes", off(10 * time.Minute), ""},
		{"longer ago", off(-10*time.Minute - time.Second), "invalid: created_at"},
		{"later", off(10*time.Minute + time.Second), "invalid: created_at"},
		{"of 1970", func(time.Time) *nostr.Event { return auth(1, time.Unix(0, 0), here, ours) }, "invalid: created_at"},
		{"of another kind", func(now time.Time) *nostr.Event {
			return testkit.Sign(testkit.Key(1), now.Unix(), nip34.KindIssue, "", here, ours)
		}, "invalid: AUTH takes"},
		{"forged signature", altered(func(e *nostr.Event) { e.Sig[7] ^= 1 }), "invalid: signature"},
		{"forged author", altered(func(e *nostr.Event) { e.PubKey = testkit.Key(2).PubKey(); e.ID = e.ComputeID() }), "invalid: signature"},
		{"forged content", altered(func(e *nostr.Event) { e.Content = "x" }), "invalid: id"},
		{"too large", with(append([]nostr.Tag{here, ours}, make([]nostr.Tag, 3000)...)...), "invalid: event has more than 2000 tags"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
				w.put(t, announcement())
				c := w.dial(t)
				defer c.close()
				e := tt.event(time.Now())
				c.send(t, authMsg(e))
				ok, isOK := parse(t, c.read(t)).(nostr.OK)
				if !isOK || ok.ID != e.ID || ok.OK != (tt.reason == "") || !strings.HasPrefix(ok.Reason, tt.reason) {
					t.Errorf("answer %+v", ok)
				}
				// Whoever is not authenticated publishes no protected event.
				protected := testkit.Sign(testkit.Key(1), time.Now().Unix(), nip34.KindIssue, "", nostr.Tag{"a", repository()}, nostr.Tag{"-"})
				if got := c.publish(t, protected); got.OK != (tt.reason == "") {
					t.Errorf("a protected event: %+v", got)
				}
				want := store.Seq(1)
				if tt.reason == "" {
					want = 2
				}
				if got := w.store.Head(); got != want {
					t.Errorf("%d events are stored, want %d", got, want)
				}
			})
		})
	}
}

// protected is an event that only its author may publish (NIP-70).
func protected() *nostr.Event {
	return testkit.Sign(testkit.Key(1), time.Now().Unix(), nip34.KindIssue, "", nostr.Tag{"a", repository()}, nostr.Tag{"-"})
}

// TestChallenge: each connection has a challenge of its own, and only that one counts there.
func TestChallenge(t *testing.T) {
	n := 0
	fresh := func() string { n++; return fmt.Sprintf("challenge \"%d\"", n) }
	inWorldOf(t, relay.Config{Challenge: fresh}, func(t *testing.T, w *world) {
		one, two := w.dial(t), w.dial(t)
		defer one.close()
		defer two.close()
		for i, c := range []*client{one, two} {
			c.send(t, string(nostr.AppendEventMsg(nil, protected())))
			c.expect(t, fmt.Sprintf(`["AUTH","challenge \"%d\""]`, i+1))
			if ok, _ := parse(t, c.read(t)).(nostr.OK); ok.OK || !strings.HasPrefix(ok.Reason, "auth-required: ") {
				t.Errorf("a protected event: %+v", ok)
			}
		}
		e := auth(1, time.Now(), nostr.Tag{"relay", "wss://" + domain}, nostr.Tag{"challenge", `challenge "1"`})
		two.send(t, authMsg(e))
		if ok, _ := parse(t, two.read(t)).(nostr.OK); ok.OK || ok.ID != e.ID {
			t.Errorf("with the challenge of another connection: %+v", ok)
		}
		one.send(t, authMsg(e))
		if ok, _ := parse(t, one.read(t)).(nostr.OK); !ok.OK {
			t.Errorf("with its own: %+v", ok)
		}
		one.send(t, authMsg(e)) // once more does no harm
		if ok, _ := parse(t, one.read(t)).(nostr.OK); !ok.OK {
			t.Errorf("twice: %+v", ok)
		}
	})
}

// TestTheChallengeComesWithTheNeed: who needs no authentication gets no challenge, as some clients take one for a refusal of all that they
// ask for. Who needs it has the challenge before the refusal, once.
func TestTheChallengeComesWithTheNeed(t *testing.T) {
	inWorldOf(t, relay.Config{Challenge: func() string { return "mine" }}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		for range 20 {
			c := w.dialIdle(t)
			c.send(t, `["REQ","s",{"kinds":[1621]}]`)
			c.send(t, string(nostr.AppendEventMsg(nil, protected())))
			c.send(t, string(nostr.AppendEventMsg(nil, protected())))
			synctest.Wait()
			c.resume()
			var got []string
			for range 4 {
				switch m := parse(t, c.read(t)).(type) {
				case nostr.AuthChallenge:
					got = append(got, "challenge "+m.Challenge)
				case nostr.OK:
					got = append(got, "refusal")
				case nostr.EOSE:
				default:
					t.Errorf("%+v", m)
				}
			}
			if strings.Join(got, ", ") != "challenge mine, refusal, refusal" {
				t.Errorf("got %q", got)
			}
		}
	})
}

// TestAPrivateRelayBeginsWithTheChallenge, as nobody gets anything there without it.
func TestAPrivateRelayBeginsWithTheChallenge(t *testing.T) {
	inPrivateWorld(t, circleOf(1), func(t *testing.T, w *world) {
		conn, _, err := w.connect("127.0.0.1:9999", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		if _, b, err := conn.Read(context.Background()); err != nil || string(b) != `["AUTH","`+challenge+`"]` {
			t.Errorf("%s, %v", b, err)
		}
	})
}

// TestRandomChallenges: without a source of its own a relay gives each connection a challenge that nobody can guess.
func TestRandomChallenges(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		r, err := relay.New(relay.Config{Front: front.New(front.Config{}), Store: w.store, Door: doors{w.door}, Rules: w.door})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for range 20 {
			c := r.NewChallenge()
			if len(c) < 26 || seen[c] {
				t.Errorf("challenge %q", c)
			}
			seen[c] = true
		}
	})
}

// TestProtectedEvents: they are taken only from their authors, over connections on which these have authenticated, and then
// served like all others.
func TestProtectedEvents(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		c, other, reader := w.dial(t), w.dial(t), w.dial(t)
		defer c.close()
		defer other.close()
		defer reader.close()
		reader.send(t, `["REQ","live",{"kinds":[1621],"limit":0}]`)
		reader.expect(t, `["EOSE","live"]`)
		e := testkit.Sign(testkit.Key(1), time.Now().Unix(), nip34.KindIssue, "mine", nostr.Tag{"a", repository()}, nostr.Tag{"-"})
		refused := func(c *client, prefix string) {
			t.Helper()
			if ok := c.publish(t, e); ok.OK || !strings.HasPrefix(ok.Reason, prefix) {
				t.Errorf("want %s..., got %+v", prefix, ok)
			}
		}
		refused(c, "auth-required: ")
		c.authenticate(t, 2)
		refused(c, "restricted: ")
		other.authenticate(t, 1) // which says nothing about c
		refused(c, "restricted: ")
		c.authenticate(t, 1)
		if ok := c.publish(t, e); !ok.OK {
			t.Fatalf("from its author: %+v", ok)
		}
		want := string(nostr.AppendRelayEvent(nil, "live", e.AppendJSON(nil)))
		reader.expect(t, want)
		reader.send(t, `["REQ","live",{"kinds":[1621]}]`)
		reader.expect(t, want)
		reader.expect(t, `["EOSE","live"]`)
		reader.send(t, `["NEG-OPEN","n",{"kinds":[1621]},"6100000200"]`)
		reader.expect(t, `["NEG-MSG","n","6100000201`+e.ID.String()+`"]`)
		second := testkit.Sign(testkit.Key(2), time.Now().Unix(), nip34.KindIssue, "", nostr.Tag{"a", repository()}, nostr.Tag{"-"})
		if ok := c.publish(t, second); !ok.OK {
			t.Errorf("whoever authenticated first: %+v", ok)
		}
	})
}

// TestManyKeys: a connection remembers so many keys and no more; those that it has still count.
func TestManyKeys(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		c := w.dial(t)
		defer c.close()
		for n := range 64 {
			c.authenticate(t, n)
		}
		e := genuine(64)
		c.send(t, authMsg(e))
		c.expect(t, string(nostr.AppendOK(nil, e.ID, false, "restricted: at most 64 keys may authenticate on one connection; open another")))
		c.authenticate(t, 63)
	})
}

// TestAUTHIsNeverStored: an authentication is seen by nobody, and is refused as an event.
func TestAUTHIsNeverStored(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		c, reader := w.dial(t), w.dial(t)
		defer c.close()
		defer reader.close()
		reader.send(t, `["REQ","a",{"kinds":[22242]},{}]`)
		reader.expect(t, `["EOSE","a"]`)
		c.authenticate(t, 1)
		if ok := c.publish(t, genuine(1)); ok.OK || !strings.HasPrefix(ok.Reason, "invalid: ") {
			t.Errorf("as an event: %+v", ok)
		}
		reader.idle(t, time.Second)
		if n := w.store.Head(); n != 0 {
			t.Errorf("%d events are stored", n)
		}
	})
}
