package peer_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

var fullScale = flag.Bool("scale", false, "TestScale at the sizes that graspd is made for")

// scale is a world of so many repositories, root events and relays, of which
// each repository names some. The first repository has a share of the root
// events to itself, and all share the rest unevenly. Hundreds of repositories.
type scale struct{ repositories, roots, largest, relays, each int }

func (s scale) String() string {
	return fmt.Sprintf("%d repositories, %d root events (%d of one), %d relays, %d for each repository",
		s.repositories, s.roots, s.largest, s.relays, s.each)
}

// town is the engine at scale: the fold, and for each relay a peer with that relay behind it.
type town struct {
	scale
	*fold
	mint
	r     *rand.Rand
	peers map[peer.URL]*household
}

// build folds the world and lets every peer settle.
func (s scale) build(t testing.TB) *town {
	w := s.fold(t)
	w.settle(t)
	return w
}

// fold makes the world without peers.
func (s scale) fold(t testing.TB) *town {
	w := &town{scale: s, fold: newFold(t), r: rand.New(rand.NewPCG(1, 2)), peers: map[peer.URL]*household{}}
	for i := range s.repositories {
		urls := []string{us}
		for k := range s.each {
			urls = append(urls, relay((i*7919+k*[...]int{1, 3, 7}[i%3])%s.relays))
		}
		w.Add(w.Announce(key(i), fmt.Sprint("repo", i), 1, urls))
	}
	for i := range s.roots {
		n := 0
		if i >= s.largest {
			n = w.any()
		}
		w.Add(w.root(n, int64(i)))
	}
	w.fold.Step()
	return w
}

// settle gives every relay a peer and has it settle.
func (w *town) settle(t testing.TB) {
	for i, u := range slices.Sorted(maps.Keys(w.Wants)) {
		h := newHousehold(t, u, habits[i%len(habits)])
		w.peers[u] = h
		h.take(peer.Wanted{Want: w.Wants[u]})
		h.settle(24 * time.Hour)
	}
}

// any chooses a repository; of each hundred the first ones are chosen most.
func (w *town) any() int {
	x := w.r.Float64()
	return w.r.IntN(w.repositories/100)*100 + int(x*x*x*100)
}

func (w *town) root(repository int, at int64) *nostr.Event {
	return w.Issue(at, address(key(repository), fmt.Sprint("repo", repository)))
}

// grow adds a root event and gives every relay concerned its Want. It returns how many those were.
func (w *town) grow(n int) int {
	w.Add(w.root(w.any(), int64(1_000_000+n)))
	changed := 0
	for u, want := range w.Changed(minutes(w.fold.Now)) {
		changed++
		h := w.peers[u]
		h.take(peer.Wanted{Want: want})
	}
	return changed
}

// rest lets what is under way come to its end.
func (w *town) rest() {
	for _, h := range w.peers {
		h.settle(10 * time.Minute)
	}
}

// habit is what a relay allows.
type habit struct {
	name       string
	told       capacity.Limits
	subs       int // REQs at once
	filters    int // in one REQ
	message    int // bytes
	perMinute  int // messages; those beyond are thrown away with a NOTICE
	negentropy bool
}

// Two programs that many relays run, as they come.
var habits = []habit{
	{"strfry", capacity.Limits{MaxSubscriptions: 20, MaxMessage: 131_072, MaxLimit: 500}, 20, 200, 131_072, 0, true},
	{"nostream", capacity.Limits{MaxSubscriptions: 10, MaxMessage: 524_288, MaxLimit: 5000}, 10, 10, 524_288, 240, false},
}

// household is a peer and its relay, which has nothing, answers after a tenth
// of a second and judges what it is asked.
type household struct {
	habit
	t     testing.TB
	url   peer.URL
	peer  *peer.Peer
	clock backoff.Now
	queue []answer // in order of time

	open   map[string]int // filters of the REQs that the relay has
	most   int            // REQs at once
	asked  int            // REQs and NEG-OPENs in all
	thrown int            // messages thrown away
	minute time.Duration  // in which the messages are counted
	count  int
	done   time.Duration // when it settled
}

type answer struct {
	at time.Duration
	in peer.Input
}

func newHousehold(t testing.TB, u peer.URL, h habit) *household {
	return &household{habit: h, t: t, url: u, peer: peer.NewPeer(peer.Config{URL: u}), clock: backoff.Now{Wall: epoch}, open: map[string]int{}}
}

// settle lets the time go by until everything is confirmed, at most so long.
func (h *household) settle(most time.Duration) {
	h.t.Helper()
	end := h.clock.Mono + most
	for !h.peer.AllConfirmed() || len(h.queue) > 0 {
		at, in := end+1, peer.Input(peer.Tick{})
		if wake, ok := h.peer.Wake(); ok {
			at = wake
		}
		if len(h.queue) > 0 && h.queue[0].at <= at {
			at, in = h.queue[0].at, h.queue[0].in
			h.queue = h.queue[1:]
		}
		if at > end {
			h.t.Fatalf("%s, %s: after %v not settled: %+v", h.url, h.name, most, h.peer.Status())
		}
		h.clock.Wall = h.clock.Wall.Add(at - h.clock.Mono)
		h.clock.Mono = at
		h.take(in)
	}
	h.done = h.clock.Mono
}

func (h *household) take(in peer.Input) {
	for _, e := range h.peer.Step(h.clock, in) {
		h.perform(e)
	}
}

func (h *household) later(in peer.Input) {
	h.queue = append(h.queue, answer{h.clock.Mono + 100*time.Millisecond, in})
}

func (h *household) frame(m nostr.RelayMessage) { h.later(peer.Frame{Message: m}) }

func (h *household) perform(e peer.Effect) {
	switch e := e.(type) {
	case peer.Dial:
		h.later(peer.Connected{Limits: h.told})
	case peer.HangUp:
		h.t.Fatalf("%s: hangs up: %s", h.url, e.Reason)
	case peer.LoadSet:
		h.later(peer.Loaded{Sub: e.Sub, Set: set(nil, e.Filter)})
	case peer.Request:
		h.asked++
		h.message(nostr.AppendReq(nil, e.Sub, e.Filters...), func() {
			if len(e.Filters) > h.filters {
				h.t.Errorf("%s, %s: %d filters", h.url, h.name, len(e.Filters))
			}
			h.open[e.Sub] = len(e.Filters)
			h.most = max(h.most, len(h.open))
			if len(h.open) > h.subs {
				h.t.Errorf("%s, %s: %d REQs", h.url, h.name, len(h.open))
			}
			h.frame(nostr.EOSE{Sub: e.Sub})
		})
	case peer.CloseRequest:
		h.message(nostr.AppendClose(nil, e.Sub), func() { delete(h.open, e.Sub) })
	case peer.OpenNeg:
		h.asked++
		h.message(nostr.AppendNegOpen(nil, e.Sub, e.Filter, e.Msg), func() {
			if !h.negentropy {
				h.frame(nostr.Notice{Text: "invalid: Invalid input"})
				return
			}
			h.frame(nostr.NegMsg{Sub: e.Sub, Msg: []byte{0x61}}) // the same: nothing
		})
	case peer.CloseNeg:
		h.message(nostr.AppendNegClose(nil, e.Sub), func() {
			if !h.negentropy {
				h.frame(nostr.Notice{Text: "invalid: Invalid input"})
			}
		})
	}
}

// message judges one message and has it heard, unless there were too many.
func (h *household) message(b []byte, hear func()) {
	if len(b) > h.told.MaxMessage {
		h.t.Errorf("%s, %s: a message of %d bytes", h.url, h.name, len(b))
	}
	if m := h.clock.Mono.Truncate(time.Minute); m != h.minute {
		h.minute, h.count = m, 0
	}
	if h.count++; h.perMinute > 0 && h.count > h.perMinute {
		h.thrown++
		h.frame(nostr.Notice{Text: "rate limited"})
		return
	}
	hear()
}

// report tells what the town costs.
func (w *town) report(folded, peers uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n  memory: %.1f MB for what is wanted, %.1f MB for the peers\n", w.scale, mb(folded), mb(peers))
	for _, x := range habits {
		var done []time.Duration
		var reqs, filters, asked, thrown, polled []int
		for _, h := range w.peers {
			if h.name != x.name {
				continue
			}
			n := 0
			for _, f := range h.open {
				n += f
			}
			s := h.peer.Status()
			done, reqs, filters = append(done, h.done), append(reqs, len(h.open)), append(filters, n)
			asked, thrown, polled = append(asked, h.asked), append(thrown, h.thrown), append(polled, s.SweptRoots)
		}
		fmt.Fprintf(&b, "  %d relays like %s, median and most of each: %s live REQs with %s filters; settled after %s with %s requests; %s root events polled, %s messages thrown away\n",
			len(done), x.name, spread(reqs), spread(filters), spread(done), spread(asked), spread(polled), spread(thrown))
	}
	return b.String()
}

func spread[T ~int | ~int64](of []T) string {
	slices.Sort(of)
	return fmt.Sprintf("%v/%v", any(of[len(of)/2]), any(of[len(of)-1]))
}

func mb(n uint64) float64 { return float64(n) / (1 << 20) }

// Every relay settles within its limits, whatever the size of the world.
func TestScale(t *testing.T) {
	sizes := []scale{{100, 5000, 1000, 20, 5}}
	if *fullScale {
		sizes = []scale{{1000, 50_000, 5000, 100, 5}, {10_000, 500_000, 5000, 500, 5}}
	}
	for _, s := range sizes {
		before := allocated()
		w := s.fold(t)
		folded := allocated()
		w.settle(t)
		t.Log(w.report(folded-before, allocated()-folded))
		for _, h := range w.peers {
			if st := h.peer.Status(); st.Want != st.Confirmed || st.Want.Repositories == 0 {
				t.Errorf("%s: %+v", h.url, st)
			}
		}
		for n := range 200 {
			if w.grow(n) != s.each {
				t.Fatalf("a new root event concerns others than the %d relays of its repository", s.each)
			}
			if n%20 == 0 {
				w.rest()
			}
		}
		runtime.KeepAlive(w)
	}
}

// The work for a new root event does not depend on how much there is in all.
func TestANewRootCostsTheSameInALargerWorld(t *testing.T) {
	cost := func(s scale) float64 {
		w := s.build(t)
		n := 0
		return testing.AllocsPerRun(200, func() { n++; w.grow(n); w.rest() })
	}
	small, large := cost(scale{100, 4000, 50, 20, 5}), cost(scale{400, 16_000, 50, 80, 5})
	t.Logf("allocations per new root event: %.0f, and %.0f where everything is four times as much", small, large)
	if large > 1.5*small {
		t.Errorf("%.0f allocations instead of %.0f", large, small)
	}
}

// BenchmarkGrow is one new root event in the worlds that graspd is made for,
// from the fold to all five relays of its repository.
func BenchmarkGrow(b *testing.B) {
	for _, s := range []scale{{1000, 50_000, 5000, 100, 5}, {10_000, 500_000, 5000, 500, 5}} {
		b.Run(fmt.Sprint(s.roots), func(b *testing.B) {
			w := s.build(b)
			b.ReportAllocs()
			b.ResetTimer()
			for n := range b.N {
				w.grow(n)
				if n%100 == 99 {
					b.StopTimer()
					w.rest()
					b.StartTimer()
				}
			}
		})
	}
}
