package relay_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestStoredThenLive opens and closes subscriptions while events come in from several sides. Each subscription that stays
// open must have shown every event exactly once in the end, and no other may have shown one twice.
func TestStoredThenLive(t *testing.T) {
	for seed := range uint64(8 / min(slower, 2)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
				now := time.Now().Unix()
				w.put(t, announcement())
				events := make([]*nostr.Event, 400) // fewer than the default limit
				for i := range events {
					events[i] = issue(now-int64(i%7), fmt.Sprint(i), nostr.Tag{"t", fmt.Sprint(i % 3)})
				}
				var busy sync.WaitGroup
				for part := range 3 {
					busy.Go(func() { publish(t, w, part, events[part*100:part*100+100]) })
				}
				busy.Go(func() {
					for _, e := range events[300:] {
						w.put(t, e)
					}
				})
				for i := range 6 {
					busy.Go(func() { watch(t, w, rand.New(rand.NewPCG(seed, uint64(i))), events) })
				}
				busy.Wait()
			})
		})
	}
}

// publish sends events over one connection, some at a time.
func publish(t *testing.T, w *world, part int, events []*nostr.Event) {
	c := w.dial(t)
	defer c.close()
	for i, e := range events {
		c.send(t, string(nostr.AppendEventMsg(nil, e)))
		if i%(part+1) == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	for _, e := range events {
		c.expect(t, string(nostr.AppendOK(nil, e.ID, true, "")))
	}
}

// watched is one subscription and what it has shown.
type watched struct {
	filter       nostr.Filter
	seen         map[nostr.ID]bool
	eose, closed bool
}

// watch opens and closes subscriptions for a while, and compares those that are still open in the end.
func watch(t *testing.T, w *world, r *rand.Rand, events []*nostr.Event) {
	c := w.dial(t)
	defer c.close()
	filters := []nostr.Filter{{Kinds: []nostr.Kind{1621}}, {Tags: []nostr.TagFilter{{Name: 't', Values: []string{"0", "1"}}}}, {}}
	subs := map[string]*watched{}
	for n := range 6 {
		name := fmt.Sprint(n)
		subs[name] = &watched{filter: filters[r.IntN(len(filters))], seen: map[nostr.ID]bool{}}
		c.send(t, string(nostr.AppendReq(nil, name, subs[name].filter)))
		take(t, c, subs, time.Duration(r.IntN(30))*time.Millisecond)
		if r.IntN(2) == 0 {
			c.send(t, string(nostr.AppendClose(nil, name)))
			subs[name].closed = true
		}
	}
	take(t, c, subs, time.Minute)
	for _, sub := range subs {
		if sub.closed {
			continue
		}
		if !sub.eose {
			t.Error("no EOSE")
		}
		for _, e := range events {
			if sub.filter.Matches(e) && !sub.seen[e.ID] {
				t.Errorf("event %q was not sent", e.Content)
			}
		}
	}
}

// take reads what comes within the time.
func take(t *testing.T, c *client, subs map[string]*watched, wait time.Duration) {
	for deadline := time.Now().Add(wait); ; {
		frame, err := c.next(time.Until(deadline))
		if err != nil {
			return
		}
		switch m := parse(t, frame).(type) {
		case nostr.EOSE:
			if subs[m.Sub].eose {
				t.Error("EOSE twice")
			}
			subs[m.Sub].eose = true
		case nostr.RelayEvent:
			sub := subs[m.Sub]
			if sub.seen[m.Event.ID] {
				t.Errorf("event %q was sent twice", m.Event.Content)
			}
			if !sub.filter.Matches(m.Event) {
				t.Errorf("event %q does not match", m.Event.Content)
			}
			sub.seen[m.Event.ID] = true
		default:
			t.Errorf("unexpected %s", frame)
		}
	}
}

func parse(t *testing.T, frame string) nostr.RelayMessage {
	t.Helper()
	m, err := nostr.ParseRelay([]byte(frame))
	if err != nil {
		t.Fatalf("%.200s: %v", frame, err)
	}
	return m
}

// TestWhatWaitsLiveIsBounded: the live events that wait for a client who takes none are bounded in number and bytes, and all
// come when it reads again.
func TestWhatWaitsLiveIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		n, size int
		least   int64
		most    int64
	}{
		"large": {40, 60_000, 900 << 10, 1<<20 + 64<<10},
		"small": {2200, 20, 300 << 10, 1024 * 480},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
				w.put(t, announcement())
				client := w.dialIdle(t)
				client.send(t, `["REQ","a",{"kinds":[1621]}]`)
				synctest.Wait()
				all := several(c.n, c.size)
				w.put(t, all...)
				synctest.Wait()
				if held := w.relay.Stats().LiveBytes; held < c.least || held > c.most {
					t.Errorf("%d bytes wait", held)
				}
				client.resume()
				got, _ := client.events(t, "a", len(all))
				sameEvents(t, "live", got, all)
			})
		})
	}
}
