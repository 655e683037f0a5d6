package relay_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
)

func setOf(events []*nostr.Event) *negentropy.Set {
	var items []negentropy.Item
	for _, e := range events {
		items = append(items, negentropy.Item{Time: uint64(e.CreatedAt), ID: e.ID})
	}
	return negentropy.NewSet(items)
}

// reconcile runs one reconciliation to its end and returns the ids by which the sides differ, sorted, and the longest
// frame.
func reconcile(t *testing.T, c *client, f nostr.Filter, own []*nostr.Event, limit int) (have, need []string, longest int) {
	t.Helper()
	n := negentropy.NewInitiator(setOf(own), limit)
	c.send(t, string(nostr.AppendNegOpen(nil, "n", f, n.Start())))
	for {
		frame := c.read(t)
		longest = max(longest, len(frame))
		m, ok := parse(t, frame).(nostr.NegMsg)
		if !ok {
			t.Fatalf("unexpected %.200s", frame)
		}
		next, h, nd, err := n.Step(m.Msg)
		if err != nil {
			t.Fatal(err)
		}
		have, need = appendIDs(have, h), appendIDs(need, nd)
		if next == nil {
			break
		}
		c.send(t, string(nostr.AppendNegMsg(nil, "n", next)))
	}
	c.send(t, string(nostr.AppendNegClose(nil, "n")))
	slices.Sort(have)
	slices.Sort(need)
	return have, need, longest
}

func appendIDs(dst []string, ids [][32]byte) []string {
	for _, id := range ids {
		dst = append(dst, nostr.ID(id).String())
	}
	return dst
}

func idsOf(events []*nostr.Event) (ids []string) {
	for _, e := range events {
		ids = append(ids, e.ID.String())
	}
	slices.Sort(ids)
	return ids
}

// TestReconcile compares random sets, with a client that has some events of its own.
func TestReconcile(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
				r := rand.New(rand.NewPCG(seed, 3))
				now := time.Now().Unix()
				w.put(t, announcement())
				var theirs, both, ours []*nostr.Event
				for i := range 1 + r.IntN(600) {
					// Few timestamps, so that the order by id matters.
					e := issue(now-int64(r.IntN(20)), fmt.Sprint(i))
					switch r.IntN(8) {
					case 0:
						theirs = append(theirs, e)
					case 1:
						ours = append(ours, e)
					default:
						both = append(both, e)
					}
				}
				w.put(t, slices.Concat(both, ours)...)
				c := w.dial(t)
				defer c.close()
				f := nostr.Filter{Kinds: []nostr.Kind{1621}}
				for _, limit := range []int{0, 4096, 60_000} {
					have, need, _ := reconcile(t, c, f, slices.Concat(theirs, both), limit)
					if !slices.Equal(have, idsOf(theirs)) || !slices.Equal(need, idsOf(ours)) {
						t.Errorf("limit %d: have %d, want %d; need %d, want %d", limit, len(have), len(theirs), len(need), len(ours))
					}
				}
			})
		})
	}
}

// TestReconcileInFrames: differences that fill many messages stay within the frame limit and arrive completely.
func TestReconcileInFrames(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		all := several(9000/min(slower, 3), 10)
		w.put(t, all...)
		c := w.dial(t)
		defer c.close()
		_, need, longest := reconcile(t, c, nostr.Filter{Kinds: []nostr.Kind{1621}}, all[:500], 60_000)
		if !slices.Equal(need, idsOf(all[500:])) {
			t.Errorf("%d ids needed, want %d", len(need), len(all)-500)
		}
		if longest > 121_000 || longest < 100_000 {
			t.Errorf("the longest frame has %d bytes", longest)
		}
	})
}

// TestReconcileOnlyWhatIsServed: what is remembered without being stored has no place in the provider's set.
func TestReconcileOnlyWhatIsServed(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		now := time.Now().Unix()
		gone := issue(now-5, "gone")
		w.put(t, announcement(), gone, event(2, now, nostr.KindDeletion, "", nostr.Tag{"e", gone.ID.String()}))
		c := w.dial(t)
		defer c.close()
		_, need, _ := reconcile(t, c, nostr.Filter{Kinds: []nostr.Kind{1621}}, nil, 0)
		if len(need) != 0 {
			t.Errorf("the deleted event is shown: %v", need)
		}
	})
}

// TestReconcileTooMany: a set beyond the bound is refused with the bound, and costs nothing afterwards.
func TestReconcileTooMany(t *testing.T) {
	limits := relay.Limits{Reconcile: relay.ReconcileLimits{Records: 50}}
	inWorld(t, limits, func(t *testing.T, w *world) {
		w.put(t, announcement())
		all := several(51, 10)
		w.put(t, all[:50]...)
		c := w.dial(t)
		defer c.close()
		whole := w.relay.RecordsLeft()
		f := nostr.Filter{Kinds: []nostr.Kind{1621}}
		if _, need, _ := reconcile(t, c, f, nil, 0); len(need) != 50 {
			t.Errorf("%d of 50 needed", len(need))
		}
		w.put(t, all[50])
		c.send(t, string(nostr.AppendNegOpen(nil, "n", f, []byte{0x61})))
		c.expect(t, `["NEG-ERR","n","blocked: too many query results",50]`)
		c.send(t, `["NEG-MSG","n","61"]`)
		if got := c.read(t); !strings.HasPrefix(got, `["NEG-ERR","n","closed: `) {
			t.Errorf("after the refusal: %s", got)
		}
		if left := w.relay.RecordsLeft(); left != whole {
			t.Errorf("%d records left of %d", left, whole)
		}
	})
}

// TestReconcilePerConnection: a connection has so many reconciliations at once; the end of each, and of the connection, gives
// their memory back.
func TestReconcilePerConnection(t *testing.T) {
	limits := relay.Limits{Reconcile: relay.ReconcileLimits{PerConnection: 2}}
	inWorld(t, limits, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(10, 10)...)
		c := w.dial(t)
		whole := w.relay.RecordsLeft()
		open := func(sub, want string) {
			t.Helper()
			c.send(t, `["NEG-OPEN","`+sub+`",{"kinds":[1621]},"61"]`)
			c.expect(t, want)
		}
		open("a", `["NEG-MSG","a","61"]`)
		open("b", `["NEG-MSG","b","61"]`)
		open("c", `["NEG-ERR","c","blocked: too many subscriptions: at most 2 reconciliations at once, close one first"]`)
		open("b", `["NEG-MSG","b","61"]`)
		if left := w.relay.RecordsLeft(); left != whole-20 {
			t.Errorf("%d records left, want 20 less than %d", left, whole)
		}
		c.send(t, `["NEG-CLOSE","a"]`)
		open("c", `["NEG-MSG","c","61"]`)
		c.close()
		time.Sleep(time.Minute)
		if left := w.relay.RecordsLeft(); left != whole {
			t.Errorf("%d records left of %d after the connection's end", left, whole)
		}
	})
}

// TestReconcileMemory: where the memory of all sets is used up a new one takes that of idle ones, and is refused while there
// are none.
func TestReconcileMemory(t *testing.T) {
	limits := relay.Limits{Reconcile: relay.ReconcileLimits{Total: 1<<14 + 5}}
	inWorld(t, limits, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(10, 10)...)
		first, second := w.dial(t), w.dial(t)
		defer first.close()
		defer second.close()
		first.send(t, `["NEG-OPEN","a",{"kinds":[1621]},"61"]`)
		first.expect(t, `["NEG-MSG","a","61"]`)
		const refused = `["NEG-ERR","b","rate-limited: the memory set aside for reconciliations is in use; try again in a minute"]`
		second.send(t, `["NEG-OPEN","b",{"kinds":[1621]},"61"]`)
		second.expect(t, refused)
		time.Sleep(9 * time.Second)
		first.send(t, `["NEG-MSG","a","61"]`)
		first.expect(t, `["NEG-MSG","a","61"]`)
		time.Sleep(9 * time.Second)
		second.send(t, `["NEG-OPEN","b",{"kinds":[1621]},"61"]`)
		second.expect(t, refused)
		time.Sleep(2 * time.Second)
		second.send(t, `["NEG-OPEN","b",{"kinds":[1621]},"61"]`)
		second.expect(t, `["NEG-MSG","b","61"]`)
		first.expect(t, `["NEG-ERR","a","closed: idle while others wait; open it again"]`)
		first.send(t, `["NEG-MSG","a","61"]`)
		first.expect(t, `["NEG-ERR","a","closed: no reconciliation is open under this id"]`)
	})
}

// TestARefusedNegOpen: nothing is open any more under the id of a NEG-OPEN that is refused.
func TestARefusedNegOpen(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		c := w.dial(t)
		defer c.close()
		c.send(t, `["NEG-OPEN","n",{},"61"]`)
		c.expect(t, `["NEG-MSG","n","61"]`)
		c.send(t, `["NEG-OPEN","n",{"search":"x"},"61"]`)
		c.expect(t, `["NEG-ERR","n","unsupported: this relay searches (NIP-50) for a REQ alone; ask without it"]`)
		c.send(t, `["NEG-MSG","n","61"]`)
		c.expect(t, `["NEG-ERR","n","closed: no reconciliation is open under this id"]`)
	})
}

// TestTheLongestIdleGoesFirst: of reconciliations that may be ended for a new one, the one that was idle for longest is.
func TestTheLongestIdleGoesFirst(t *testing.T) {
	limits := relay.Limits{Reconcile: relay.ReconcileLimits{Total: 1<<14 + 25}}
	inWorld(t, limits, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(10, 10)...)
		var clients []*client
		open := func() *client {
			c := w.dial(t)
			t.Cleanup(c.close)
			c.send(t, `["NEG-OPEN","n",{"kinds":[1621]},"61"]`)
			c.expect(t, `["NEG-MSG","n","61"]`)
			return c
		}
		for range 3 {
			clients = append(clients, open())
			time.Sleep(time.Second)
		}
		clients[0].send(t, `["NEG-MSG","n","61"]`)
		clients[0].expect(t, `["NEG-MSG","n","61"]`)
		time.Sleep(11 * time.Second)
		open()
		clients[1].expect(t, `["NEG-ERR","n","closed: idle while others wait; open it again"]`)
		clients[0].idle(t, time.Second)
		clients[2].idle(t, time.Second)
	})
}

// TestAscend: what the store yields is brought into the order of a set without sorting.
func TestAscend(t *testing.T) {
	item := func(at uint64, id byte) negentropy.Item { return negentropy.Item{Time: at, ID: [32]byte{id}} }
	for _, items := range [][]negentropy.Item{
		{},
		{item(5, 1)},
		{item(5, 1), item(5, 2), item(5, 3)},
		{item(9, 4), item(5, 1), item(5, 2), item(4, 9), item(3, 1), item(3, 2)},
	} {
		set := negentropy.NewSet(slices.Clone(items))
		relay.Ascend(items)
		for i, got := range items {
			if got != set.At(i) {
				t.Errorf("%v: item %d is not where a sorted set has it", items, i)
			}
		}
	}
}
