package relay_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"graspd/internal/nostr"
	"graspd/internal/relay"
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
	inWorld(t, relay.Limits{Rates: relay.Rates{Requests: 100_000}}, func(t *testing.T, w *world) {
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

// TestConnectionsOfManyAddresses: some connections are kept for addresses that have few.
func TestConnectionsOfManyAddresses(t *testing.T) {
	v := relay.NewVisitors(relay.Rates{Connections: 1000, Open: 100, OpenTotal: 800}, time.Now, false)
	taken := 0
	for n := range 10 {
		for range 100 {
			if _, err := v.Arrive(strings.TrimSuffix(address(n), ":1")); err == nil {
				taken++
			}
		}
	}
	if taken != 700+3*8 { // the last three have a few of what is kept
		t.Errorf("%d connections of ten addresses", taken)
	}
	for n := range 9 {
		for range 8 {
			if _, err := v.Arrive(strings.TrimSuffix(address(100+n), ":1")); err != nil {
				t.Fatalf("newcomer %d: %v", n, err)
			}
		}
	}
}

// TestNetworksOfIPv6: the addresses of one /48 have together four times what one has, in rates, connections and memory.
func TestNetworksOfIPv6(t *testing.T) {
	at := &clock{time.Unix(1000, 0)}
	rates := relay.Rates{Connections: 10, Open: 10, Events: 10}
	addr := func(network, n int) string { return fmt.Sprintf("2001:db8:%x:%x::1", network, n) }
	count := func(v *relay.Visitors, network int, ask func(addr string) bool) (ok int) {
		for n := range 50 {
			for range 200 {
				if ask(addr(network, n)) {
					ok++
				}
			}
		}
		return ok
	}
	t.Run("open connections", func(t *testing.T) {
		v := relay.NewVisitors(rates, at.now, false)
		arrive := func(addr string) bool { _, err := v.Arrive(addr); return err == nil }
		if n := count(v, 1, arrive); n != 40 {
			t.Errorf("%d of one network", n)
		}
		if n := count(v, 2, arrive); n != 40 {
			t.Errorf("%d of another", n)
		}
	})
	t.Run("half of a pool", func(t *testing.T) {
		v := relay.NewVisitors(relay.Rates{Connections: 1000, Open: 100, OpenTotal: 300}, at.now, false)
		if n := count(v, 1, func(addr string) bool { _, err := v.Arrive(addr); return err == nil }); n != 150 {
			t.Errorf("%d connections of one network, where all have 300", n)
		}
	})
	t.Run("new connections", func(t *testing.T) {
		v := relay.NewVisitors(rates, at.now, false)
		arrive := func(addr string) bool {
			one, err := v.Arrive(addr)
			if err == nil {
				v.Depart(one)
			}
			return err == nil
		}
		if n := count(v, 1, arrive); n != 400 {
			t.Errorf("a burst of %d of one network", n)
		}
		at.advance(time.Second)
		if n := count(v, 1, arrive); n != 40 {
			t.Errorf("%d a second later", n)
		}
	})
	t.Run("connections of any kind", func(t *testing.T) {
		v := relay.NewVisitors(rates, at.now, false)
		if n := count(v, 1, func(addr string) bool { return v.Connect(addr) }); n != 440 {
			t.Errorf("%d of one network", n)
		}
	})
	t.Run("events", func(t *testing.T) {
		v := relay.NewVisitors(rates, at.now, false)
		n := 0
		for i := range 50 {
			one, err := v.Arrive(addr(1, i))
			if err != nil {
				break
			}
			for range 200 {
				if v.MayPublish(one) {
					n++
				}
			}
		}
		if n != 400 {
			t.Errorf("%d of one network", n)
		}
	})
	t.Run("events of addresses that are forgotten", func(t *testing.T) {
		v := relay.NewVisitors(rates, at.now, false)
		for n := range relay.MaxVisitors - 50 {
			v.Find(fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255))
		}
		publish := func(addresses, from, each int) (ok int) {
			for i := range addresses {
				one := v.Find(addr(1, from+i))
				for range each {
					if v.MayPublish(one) {
						ok++
					}
				}
			}
			return ok
		}
		publish(4, 0, 100) // all that the network has
		at.advance(5 * time.Second)
		publish(4, 4, 50) // all that it has again
		at.advance(6 * time.Second)
		for n := range 50 {
			v.Find(fmt.Sprintf("11.0.0.%d", n))
		}
		if n := v.Len(); n > 50 {
			t.Fatalf("%d addresses", n)
		}
		// Each address is as if it had never come, and the network has what came back in 6 s.
		if n := publish(8, 0, 100); n != 240 {
			t.Errorf("%d events", n)
		}
	})
	t.Run("memory", func(t *testing.T) {
		v := relay.NewVisitors(relay.Rates{}, at.now, false)
		held := func(network int) (mib int) {
			for i := range 50 {
				one, err := v.Arrive(addr(network, i))
				if err != nil {
					t.Fatal(err)
				}
				for range 100 {
					if _, ok := v.Grant(one, 1<<20, func() {}); ok {
						mib++
					}
				}
			}
			return mib
		}
		if n := held(1); n != 256 {
			t.Errorf("one network holds %d MiB", n)
		}
	})
	t.Run("forgotten", func(t *testing.T) {
		v := relay.NewVisitors(relay.Rates{}, at.now, false)
		for n := range relay.MaxVisitors {
			one, err := v.Arrive(fmt.Sprintf("2001:db8:%x:%x::1", n/10, n%10))
			if err != nil {
				t.Fatal(err)
			}
			v.Depart(one)
		}
		at.advance(time.Minute)
		v.Arrive("198.51.100.1")
		if n, networks := v.Len(), v.Networks(); n != 1 || networks != 0 {
			t.Errorf("%d addresses, %d networks", n, networks)
		}
	})
}

// TestGrants: whatever is granted, given back, settled and taken back, in any order, no bound is exceeded, who asks for little
// is never refused while somebody else has more, and in the end everything is there again.
func TestGrants(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		v := relay.NewVisitors(relay.Rates{}, time.Now, false)
		total := v.FilterTotal()
		held := map[string]int{}  // by network
		backs := map[int]func(){} // what is held
		for n := range 3000 {
			network := fmt.Sprint(r.IntN(15))
			addr := "198.51.100." + network
			if r.IntN(2) == 0 {
				addr = fmt.Sprintf("2001:db8:%s:%d::1", network, r.IntN(5))
				network = "v6 " + network
			}
			if len(backs) > 0 && r.IntN(3) == 0 {
				all := slices.Sorted(maps.Keys(backs))
				backs[all[r.IntN(len(all))]]()
				continue
			}
			one := v.Find(addr)
			size := []int{1 << 10, 1 << 20, 30 << 20}[r.IntN(3)]
			end := func() {
				if backs[n] != nil {
					held[network] -= size
					delete(backs, n)
				}
			}
			back, ok := v.Grant(one, size, end)
			if ok {
				held[network] += size
				backs[n] = func() { back(); end() }
			} else if most := slices.Max(slices.Collect(maps.Values(held))); size == 1<<10 && held[network]+size < most { // now, as some have lost something
				t.Fatalf("seed %d: %d bytes refused to one who has %d, while somebody has %d", seed, size, held[network], most)
			}
			sum := 0
			for _, h := range held {
				sum += h
			}
			if used := v.FilterUsed(); used != sum || used > total {
				t.Fatalf("seed %d: %d bytes are in use, %d were granted", seed, used, sum)
			}
		}
		for _, back := range backs {
			back()
		}
		if used := v.FilterUsed(); used != 0 {
			t.Errorf("seed %d: %d bytes were not given back", seed, used)
		}
	}
}

// TestGivenBackBeforeItIsSettled: what ends while it is being set up, and has given its memory back, does not take it again.
func TestGivenBackBeforeItIsSettled(t *testing.T) {
	v := relay.NewVisitors(relay.Rates{}, time.Now, false)
	v.SettleLate(v.Find("198.51.100.1"), 1000)
	if used := v.FilterUsed(); used != 0 {
		t.Errorf("%d bytes are held by nobody", used)
	}
}
