package relay_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

// valued is a REQ of that id whose filters take about that many bytes.
func valued(id string, bytes int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `["REQ",%q`, id)
	for left := bytes / 160; left > 0; left -= 500 {
		b.WriteString(`,{"limit":0,"#t":["x"`)
		for v := range min(left, 500) - 1 {
			fmt.Fprintf(&b, `,"%d"`, v)
		}
		b.WriteString("]}")
	}
	return b.String() + "]"
}

const evicted = `["CLOSED","0","rate-limited: your address holds most of the memory for filters, and others need some; ask for less"]`

// TestFiltersOfManyAddresses: where many addresses have taken all memory for filters, others get what they need from those that
// have most, who lose what they opened first and hear of it. Small REQs are always taken.
func TestFiltersOfManyAddresses(t *testing.T) {
	inWorldAt(t, front.Rates{Requests: 100_000}, relay.Limits{}, func(t *testing.T, w *world) {
		defer w.relay.LeaveFilterBytes(72 << 20)() // what the attackers get, and an eighth of all
		var attackers []*client
		for n := range 8 {
			c := w.dialFrom(t, address(n))
			defer c.close()
			for i := range 5 {
				c.send(t, valued(fmt.Sprint(i), 1<<20))
			}
			attackers = append(attackers, c)
		}
		synctest.Wait()
		if left := w.relay.FilterBytes(); left < 64<<20 || left > 66<<20 {
			t.Errorf("%d bytes are left for those who have nothing", left)
		}
		small := w.dialFrom(t, stranger)
		defer small.close()
		small.send(t, valued("mine", 900_000))
		small.expect(t, `["EOSE","mine"]`)
		defer w.relay.LeaveFilterBytes(10_000)()
		for n := range 30 {
			c := w.dialFrom(t, address(100+n))
			defer c.close()
			c.send(t, valued("mine", 200_000))
			c.expect(t, `["EOSE","mine"]`)
		}
		told := 0
		for _, c := range attackers {
			for {
				frame, err := c.next(time.Second)
				if err != nil {
					break
				}
				if strings.HasPrefix(frame, `["CLOSED"`) && strings.HasSuffix(frame, evicted[len(`["CLOSED","0"`):]) {
					told++
				}
			}
		}
		if told == 0 {
			t.Error("nobody was told that a subscription is taken back")
		}
	})
}

// TestTheOldestOfTheLargestGoes: a subscription is taken back from whoever has most, the oldest first, and no more than is needed;
// nobody gets more this way than who loses has.
func TestTheOldestOfTheLargestGoes(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		large, middle, late := w.dialFrom(t, address(0)), w.dialFrom(t, address(1)), w.dialFrom(t, address(2))
		for _, c := range []*client{large, middle, late} {
			defer c.close()
		}
		open := func(c *client, id string, bytes int) {
			t.Helper()
			c.send(t, valued(id, bytes))
			c.expect(t, `["EOSE","`+id+`"]`)
		}
		for n := range 4 {
			open(large, fmt.Sprint(n), 100_000)
		}
		open(middle, "m", 300_000)
		defer w.relay.LeaveFilterBytes(10_000)()
		open(late, "l", 100_000)
		large.expect(t, evicted)
		large.idle(t, time.Second)
		middle.idle(t, time.Second)
		// Each of the others has about 300 kB.
		late.send(t, valued("more", 250_000))
		late.expect(t, `["CLOSED","more","rate-limited: this relay holds as many filters as it can; try again later"]`)
		e := issue(time.Now().Unix(), "still open", nostr.Tag{"t", "x"})
		w.put(t, announcement(), e)
		json := e.AppendJSON(nil)
		for n := 1; n < 4; n++ {
			if frame := large.read(t); !strings.Contains(frame, string(json)) {
				t.Errorf("got %.100s", frame)
			}
		}
		late.expect(t, string(nostr.AppendRelayEvent(nil, "l", json)))
	})
}

// TestReconciliationsOfManyAddresses: the same for reconciliations that are in use.
func TestReconciliationsOfManyAddresses(t *testing.T) {
	limits := relay.Limits{Reconcile: relay.ReconcileLimits{Records: 1000, Total: 200_000}}
	inWorld(t, limits, func(t *testing.T, w *world) {
		w.put(t, announcement())
		w.put(t, several(999, 20)...)
		const full = "rate-limited: the memory set aside for reconciliations is in use; try again in a minute"
		const gone = "closed: your address holds most of the memory for reconciliations, and others need some; open it again"
		open := func(c *client, n int) string {
			c.send(t, fmt.Sprintf(`["NEG-OPEN","%d",{},"61"]`, n))
			return c.read(t)
		}
		var attackers []*client
		refused := 0
		for n := range 48 {
			c := w.dialFrom(t, address(n%6))
			defer c.close()
			for i := range 8 {
				if frame := open(c, i); strings.Contains(frame, full) {
					refused++
				}
			}
			attackers = append(attackers, c)
		}
		if refused == 0 {
			t.Error("the memory has no end")
		}
		defer w.relay.LeaveRecords(relay.ReserveStep)()
		for n := range 5 {
			c := w.dialFrom(t, address(100+n))
			defer c.close()
			if frame := open(c, 0); frame != `["NEG-MSG","0","61"]` {
				t.Errorf("newcomer %d got %s", n, frame)
			}
		}
		told := 0
		for _, c := range attackers {
			for frame, err := c.next(time.Second); err == nil; frame, err = c.next(time.Second) {
				if strings.Contains(frame, gone) {
					told++
				}
			}
		}
		if told != 4 { // one for each newcomer but the first
			t.Errorf("%d reconciliations were taken back and their clients told", told)
		}
	})
}
