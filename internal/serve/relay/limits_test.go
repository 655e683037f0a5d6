package relay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/serve/relay"
)

const stranger = "198.51.100.1:1"

// TestThousandSubscriptions: a thousand subscriptions with a hundred filters each are refused past the limits that are told,
// in memory that stays what it is.
func TestThousandSubscriptions(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		c := w.dial(t)
		defer c.close()
		req := func(n, filters int) string {
			return fmt.Sprintf(`["REQ","%d"%s]`, n, strings.Repeat(`,{"kinds":[1],"limit":0}`, filters))
		}
		for n := range 1000 {
			c.send(t, req(n, 100))
			c.expect(t, fmt.Sprintf(`["CLOSED","%d","invalid: too many filters in one REQ: 100, at most 20"]`, n))
		}
		for n := range 1000 {
			c.send(t, req(n, 20))
			want := fmt.Sprintf(`["EOSE","%d"]`, n)
			if n >= 64 {
				want = fmt.Sprintf(`["CLOSED","%d","blocked: too many subscriptions: at most 64 at once, close one first"]`, n)
			}
			c.expect(t, want)
		}
		if n := w.relay.Stats().Subscriptions; n != 64 {
			t.Errorf("%d subscriptions are open", n)
		}
		if left := w.relay.FilterBytes(); left < 511<<20 {
			t.Errorf("%d bytes are left for filters", left)
		}
	})
}

// TestFiltersOfAnAddress: the connections of one address cannot take the memory for filters from all others.
func TestFiltersOfAnAddress(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		var filters strings.Builder
		for f := range 20 {
			fmt.Fprintf(&filters, `,{"limit":0,"#t":["%d"`, f)
			for v := range 499 {
				fmt.Fprintf(&filters, `,"%d"`, v)
			}
			filters.WriteString("]}")
		}
		fill := func(addr string, connections int) (refused int) {
			for range connections {
				c := w.dialFrom(t, addr)
				t.Cleanup(c.close)
				for n := range 5 {
					c.send(t, fmt.Sprintf(`["REQ","%d"%s]`, n, filters.String()))
					switch got := c.read(t); {
					case strings.HasPrefix(got, `["EOSE"`):
					case strings.HasSuffix(got, `"blocked: too many subscriptions: their filters fill the memory set aside for your address, close one first"]`):
						refused++
					default:
						t.Fatalf("unexpected %.200s", got)
					}
				}
			}
			return refused
		}
		if n := fill(stranger, 10); n == 0 || n > 20 {
			t.Errorf("%d of 50 were refused", n)
		}
		left := w.relay.FilterBytes()
		if left < 440<<20 {
			t.Errorf("%d bytes are left for others", left)
		}
		if n := fill("198.51.100.2:1", 5); n != 0 {
			t.Errorf("%d of another address were refused", n)
		}
	})
}

// TestReconciliationsOfAnAddress: nor the memory for reconciliations.
func TestReconciliationsOfAnAddress(t *testing.T) {
	limits := relay.Limits{Reconcile: relay.ReconcileLimits{Records: 300, Total: 100_000}}
	inWorld(t, limits, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(299, 20)...)
		open := func(addr string) (ok int) {
			c := w.dialFrom(t, addr)
			t.Cleanup(c.close)
			for n := range 8 {
				c.send(t, fmt.Sprintf(`["NEG-OPEN","%d",{},"61"]`, n))
				switch got := c.read(t); got {
				case fmt.Sprintf(`["NEG-MSG","%d","61"]`, n):
					ok++
				case fmt.Sprintf(`["NEG-ERR","%d","rate-limited: the memory set aside for reconciliations is in use; try again in a minute"]`, n):
				default:
					t.Fatalf("unexpected %s", got)
				}
			}
			return ok
		}
		total := 0
		for range 8 {
			total += open(stranger)
		}
		// The last set is taken while there is room for the step in which it is read, within a quarter of all.
		const share = 100_000 / 4
		if want := (share-relay.ReserveStep)/300 + 1; total != want {
			t.Errorf("%d sets of 300 records are open, want %d", total, want)
		}
		if n := open("198.51.100.2:1"); n != 8 {
			t.Errorf("%d of another address", n)
		}
	})
}

// TestTheLargestSetOfAnAddress: where a quarter of the memory for reconciliations is less than one large set takes while it is
// read, an address can have one all the same.
func TestTheLargestSetOfAnAddress(t *testing.T) {
	limits := relay.Limits{Reconcile: relay.ReconcileLimits{Records: 300, Total: 40_000}}
	inWorld(t, limits, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(299, 20)...)
		c := w.dialFrom(t, stranger)
		defer c.close()
		c.send(t, `["NEG-OPEN","n",{},"61"]`)
		c.expect(t, `["NEG-MSG","n","61"]`)
	})
}
