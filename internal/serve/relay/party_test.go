package relay_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestClientsOfAnAddressAreOneParty: however many connections of one address publish, others wait for one event of them. Clients
// without rates have a turn for each connection.
func TestClientsOfAnAddressAreOneParty(t *testing.T) {
	for _, tc := range []struct {
		name   string
		flood  string
		turns  int // events verified until the one of another address is answered
		before int // at least so many come before it
	}{
		{"IPv4", "198.51.100.1:1", 3, 0},
		{"IPv6 customer", "[2001:db8:0:%d::1]:1", 3, 0},
		{"the operator's own", "127.0.0.1:1", 32, 30},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
				w.put(t, announcement())
				token := make(chan struct{})
				w.gate.open.Store(&token)
				for i := range 30 {
					addr := tc.flood
					if tc.name == "IPv6 customer" {
						addr = fmt.Sprintf(tc.flood, i+1)
					}
					c := w.dialFrom(t, addr)
					defer c.close()
					for n := range 5 {
						c.send(t, string(nostr.AppendEventMsg(nil, issue(time.Now().Unix(), fmt.Sprint(i, n)))))
					}
				}
				synctest.Wait()
				other := w.dialFrom(t, "203.0.113.5:1")
				defer other.close()
				e := issue(time.Now().Unix(), "honest")
				other.send(t, string(nostr.AppendEventMsg(nil, e)))
				synctest.Wait()
				answered := make(chan struct{})
				go func() {
					other.expect(t, string(nostr.AppendOK(nil, e.ID, true, "")))
					close(answered)
				}()
				n := 0
				for done := false; !done; n++ {
					token <- struct{}{}
					time.Sleep(time.Second) // a commit is due
					select {
					case <-answered:
						done = true
					default:
					}
				}
				if n > tc.turns || n < tc.before {
					t.Errorf("%d events were verified before the answer, want %d to %d", n, tc.before, tc.turns)
				}
				close(token)
			})
		})
	}
}

// TestDecisionsArePaidFor: the work that the decision of a costly event makes is charged to the address, whose events wait then;
// usual ones make none that counts, and what has to wait is refused nothing.
func TestDecisionsArePaidFor(t *testing.T) {
	inWorldAt(t, front.Rates{Requests: 1}, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		costly := func(i int) *nostr.Event {
			var tags nostr.Tags
			for n := range 1500 {
				tags = append(tags, nostr.Tag{"t", fmt.Sprint(i, n)})
			}
			return issue(time.Now().Unix(), fmt.Sprint(i), tags...)
		}
		c, same, far, local := w.dialFrom(t, stranger), w.dialFrom(t, stranger), w.dialFrom(t, "203.0.113.5:1"), w.dial(t)
		took := func(c *client, n int, event func(int) *nostr.Event) time.Duration {
			t.Helper()
			start := time.Now()
			for i := range n {
				if ok := c.publish(t, event(i)); !ok.OK {
					t.Fatalf("refused: %+v", ok)
				}
			}
			return time.Since(start)
		}
		for _, one := range []*client{c, same, far, local} {
			defer one.close()
		}
		small := several(200, 20)
		if d := took(c, 200, func(i int) *nostr.Event { return small[i] }); d > 3*time.Second {
			t.Errorf("usual events took %v", d)
		}
		// Each makes 6,000 steps and some more, where 50,000 come without waiting and then 5,000 a second.
		if d := took(c, 20, costly); d < 12*time.Second || d > 20*time.Second {
			t.Errorf("costly ones took %v", d)
		}
		if d := took(same, 1, func(int) *nostr.Event { return issue(1, "another connection") }); d < 500*time.Millisecond {
			t.Errorf("one on another connection of the address took %v", d)
		}
		if d := took(far, 1, func(int) *nostr.Event { return issue(1, "another address") }); d > 100*time.Millisecond {
			t.Errorf("one from another address took %v", d)
		}
		if d := took(local, 20, func(i int) *nostr.Event { return costly(100 + i) }); d > 5*time.Second {
			t.Errorf("the operator's own took %v", d)
		}
	})
}
