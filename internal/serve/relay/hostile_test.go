package relay_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/test/testkit"
)

var (
	hostileFor  = flag.Duration("for", 2*time.Second, "how long TestHostile goes on")
	hostileSeed = flag.Uint64("seed", 1, "where the chances of TestHostile begin")
)

const (
	lifeLasts       = 15 * time.Second
	guestsOf        = 40              // a life
	hostilePatience = 2 * time.Minute // the longest that anything may take
)

// TestHostile lets many clients at once do what chance says on real sockets: requests that overlap and replace each other, events
// of every kind, half and broken messages, readers that are slow, stop or vanish. Whatever the relay sends must be an answer to
// something, an honest client among them must not notice, and when all have left nothing may be left of them.
func TestHostile(t *testing.T) {
	all, end := newTally(), time.Now().Add(*hostileFor)
	for seed := *hostileSeed; !t.Failed(); seed++ {
		left := time.Until(end)
		if left <= 0 && seed > *hostileSeed {
			break
		}
		oneLife(t, seed, min(lifeLasts, max(left, time.Second)), all)
		all.add("lives", 1)
		if t.Failed() {
			t.Logf("failed in the life of seed %d: make hostile SEED=%d FOR=%s", seed, seed, lifeLasts)
		}
	}
	t.Log(all)
}

// oneLife is one relay and its clients from the first to the last.
func oneLife(t *testing.T, seed uint64, lasts time.Duration, all *tally) {
	before := runtime.NumGoroutine()
	r := rand.New(rand.NewPCG(seed, 41))
	h := newHostile(t, r, all)
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var guests, honest sync.WaitGroup
	connected := make(chan struct{})
	honest.Go(func() { h.honest(ctx, sync.OnceFunc(func() { close(connected) })) })
	<-connected
	for n := range guestsOf {
		guests.Go(func() {
			g := &guest{hostile: h, r: rand.New(rand.NewPCG(seed, 1000+uint64(n))), n: n}
			for ctx.Err() == nil {
				g.visit(ctx)
			}
		})
	}
	honest.Wait()
	if r.IntN(2) == 0 {
		h.endRelay() // under their feet
	}
	cancel()
	guests.Wait()
	h.eventually(func() []string { return h.left() })
	h.stop()
	if n, last := h.faults.Seen(); n > 0 {
		t.Errorf("%d faults were contained, the last at %s: %s", n, last.Place, last.Value)
	}
	h.eventually(func() []string {
		if n := runtime.NumGoroutine(); n > before {
			return []string{fmt.Sprintf("%d goroutines, %d before", n, before)}
		}
		return nil
	})
}

// hostile is one life's relay, and what its clients know of it.
type hostile struct {
	*world
	t      *testing.T
	url    string
	faults *contain.Faults
	pool   *pool
	tally  *tally
}

func newHostile(t *testing.T, r *rand.Rand, all *tally) *hostile {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{t: t, url: "ws://" + listener.Addr().String(), faults: contain.New(nil, nil), tally: all}
	c := settings{proxies: []netip.Prefix{netip.PrefixFrom(proxyAddr, 32)}} // so that loopback's rates are those of strangers
	c.Config = relay.Config{
		Faults: h.faults, Challenge: func() string { return challenge }, Ping: time.Duration(1+r.IntN(5)) * time.Second,
	}
	switch r.IntN(3) {
	case 0: // nothing has to wait
		c.rates = front.Rates{Connections: 1000, Events: 5000, Requests: 10_000, Bytes: 64 << 20}
	case 1: // everything is full soon
		c.Limits = relay.Limits{
			MessageBytes: 128 << 10, Subscriptions: 8, Limit: 100, ScanWork: 20_000, CountWork: 5000, Idle: 3 * time.Second,
			Reconcile: relay.ReconcileLimits{PerConnection: 2, Records: 2000, Total: 4000},
		}
		c.rates = front.Rates{OpenTotal: 30}
	}
	h.world = assembleOn(t, c, ground{store: store.Options{Dir: t.TempDir()}, front: listener, verify: testkit.Marks{}, workers: 2, settle: func() {}})
	h.pool = newPool(r)
	h.put(t, h.pool.all...)
	if r.IntN(4) == 0 {
		h.relay.SetMaxLag(500)
	}
	h.startRelay()
	return h
}

// left names what clients have left behind.
func (h *hostile) left() []string {
	out := h.relay.Unreturned()
	if sources, places := h.door.Occupied(); sources > 1 || places > 0 { // the source of the test itself is one
		out = append(out, fmt.Sprintf("%d sources, %d places at the door", sources, places))
	}
	return out
}

// eventually waits until there is nothing to complain of.
func (h *hostile) eventually(complaints func() []string) {
	for end := time.Now().Add(hostilePatience); ; time.Sleep(5 * time.Millisecond) {
		c := complaints()
		if len(c) == 0 {
			return
		}
		if time.Now().After(end) {
			h.t.Errorf("%v later: %s", hostilePatience, strings.Join(c, "; "))
			return
		}
	}
}

// tally counts what was done and heard.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func newTally() *tally { return &tally{n: map[string]int{}} }

func (t *tally) add(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[what] += n
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.n)) {
		fmt.Fprintf(&b, "\n%9d %s", t.n[what], what)
	}
	return b.String()
}
