package relay_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestPipelinedPublishes: 20,000 events in one go, with some that are refused, are answered in their order by a bounded
// number of goroutines, and are stored as they were sent.
func TestPipelinedPublishes(t *testing.T) {
	inWorld(t, relay.Limits{EventBytes: 2000}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		events := several(20_000/slower, 20)
		for i := range events {
			if i%100 == 99 {
				events[i] = issue(time.Now().Unix(), strings.Repeat("x", 3000+i))
			}
		}
		c := w.dial(t)
		defer c.close()
		before := runtime.NumGoroutine()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for _, e := range events {
				c.send(t, string(nostr.AppendEventMsg(nil, e)))
			}
		}()
		most := 0
		for i, e := range events {
			ok, isOK := parse(t, c.read(t)).(nostr.OK)
			if !isOK || ok.ID != e.ID || ok.OK != (i%100 != 99) {
				t.Fatalf("answer %d is %+v", i, ok)
			}
			most = max(most, runtime.NumGoroutine())
		}
		<-sent
		if most > before+10 {
			t.Errorf("%d goroutines before, %d during", before, most)
		}
		view := w.store.View()
		defer view.Close()
		for i, e := range events {
			stored, ok, err := view.Get(e.ID)
			if err != nil || ok != (i%100 != 99) {
				t.Fatalf("event %d: stored %v, %v", i, ok, err)
			}
			if ok && string(stored.AppendJSON(nil)) != string(e.AppendJSON(nil)) {
				t.Fatalf("event %d changed into %s", i, stored.AppendJSON(nil))
			}
		}
	})
}

// TestUnreadOKs: a client that reads no OKs is read no further, and nothing is lost when it reads on.
func TestUnreadOKs(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		events := several(10_000/min(slower, 2), 20)
		c := w.dialIdle(t)
		sent := 0
		go func() {
			for _, e := range events {
				c.send(t, string(nostr.AppendEventMsg(nil, e)))
				sent++
			}
		}()
		synctest.Wait()
		// What fits: the pipes' buffers of 64 KiB, and 1,024 places at the door.
		if sent > 3000 {
			t.Errorf("%d events were taken from a client that reads nothing", sent)
		}
		if head := w.store.Head(); head > 3000 {
			t.Errorf("%d events were stored", head)
		}
		c.resume()
		for _, e := range events {
			c.expect(t, string(nostr.AppendOK(nil, e.ID, true, "")))
		}
	})
}

// TestEventRate: each address has its rate and its burst, and hears when it is over.
func TestEventRate(t *testing.T) {
	rates := front.Rates{Events: 2}
	inWorldAt(t, rates, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		near, far, local := w.dialFrom(t, "198.51.100.1:1"), w.dialFrom(t, "198.51.100.2:1"), w.dial(t)
		defer near.close()
		defer far.close()
		defer local.close()
		again := w.dialFrom(t, "198.51.100.1:2")
		defer again.close()
		n := 0
		publish := func(c *client, ok bool) {
			t.Helper()
			n++
			e := issue(time.Now().Unix(), fmt.Sprint(n))
			c.send(t, string(nostr.AppendEventMsg(nil, e)))
			reason := ""
			if !ok {
				reason = "rate-limited: too many events from your address; slow down and send this one again"
			}
			c.expect(t, string(nostr.AppendOK(nil, e.ID, ok, reason)))
		}
		for range 20 {
			publish(near, true)
		}
		publish(near, false)
		publish(again, false)
		publish(far, true)
		for range 50 {
			publish(local, true)
		}
		time.Sleep(time.Second)
		publish(near, true)
		publish(again, true)
		publish(near, false)
	})
}

// TestUnreadReplies: a client that reads no answers of any kind is read no further.
func TestUnreadReplies(t *testing.T) {
	for name, frame := range map[string]string{
		"NOTICE":  `["WHAT","` + strings.Repeat("x", 1000) + `"]`,
		"CLOSED":  `["COUNT","` + strings.Repeat("x", 64) + `",{"#t":["` + strings.Repeat("x", 1000) + `"]}]`,
		"NEG-ERR": `["NEG-MSG","` + strings.Repeat("x", 64) + `","` + strings.Repeat("00", 500) + `"]`,
		"refused": string(nostr.AppendEventMsg(nil, event(1, 1, 1, strings.Repeat("x", 1000)))),
		"OK":      `["EVENT",{"id":"` + strings.Repeat("ab", 32) + `","kind":"` + strings.Repeat("x", 1000) + `"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, relay.Limits{EventBytes: 1000}, func(t *testing.T, w *world) {
				c := w.dialIdle(t)
				const all = 4000
				sent := 0
				go func() {
					for range all {
						c.send(t, frame)
						sent++
					}
				}()
				synctest.Wait()
				if sent > 3500 {
					t.Errorf("%d frames were taken from a client that reads nothing", sent)
				}
				c.resume()
				for range all {
					c.read(t)
				}
			})
		})
	}
}

// TestUnreadLargeReplies: nor are many requests answered whose answers are large.
func TestUnreadLargeReplies(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(2000, 10)...)
		c := w.dialIdle(t)
		all := negentropy.NewInitiator(negentropy.NewSet(nil), 0).Start()
		c.send(t, string(nostr.AppendNegOpen(nil, "n", nostr.Filter{}, all)))
		for range 100 {
			c.send(t, string(nostr.AppendNegMsg(nil, "n", all)))
		}
		synctest.Wait()
		if n := w.relay.Traffic().Frames; n > 10 {
			t.Errorf("%d messages were answered", n)
		}
		c.resume()
		for range 101 {
			if frame := c.read(t); len(frame) < 100_000 {
				t.Fatalf("%d bytes: %.100s", len(frame), frame)
			}
		}
	})
}
