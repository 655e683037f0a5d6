package sim_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

var (
	runs   = flag.Int("runs", max(8/slower, 4), "how many random worlds are lived")
	first  = flag.Uint64("first", 0, "the seed of the first of them")
	replay = flag.Int64("seed", -1, "live this one world only, and tell it")
)

// TestMain leaves one processor: which of several goroutines runs first is then decided the same way each time. A world
// is small and soon gone, so garbage may gather.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		*runs = min(*runs, 5)
	}
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

func TestWorlds(t *testing.T) {
	if *replay >= 0 {
		live(t, uint64(*replay), told)
		return
	}
	for seed := *first; seed < *first+uint64(*runs); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { live(t, seed, untold) })
	}
}

// TestTheSameSeedIsTheSameRun, to the nanosecond and the byte.
func TestTheSameSeedIsTheSameRun(t *testing.T) {
	for seed := uint64(1000); seed < 1001; seed++ {
		one, other := live(t, seed, recorded).lines, live(t, seed, recorded).lines
		if n := different(one, other); n >= 0 {
			t.Errorf("seed %d: line %d of %d and %d is another:\n%s\n%s", seed, n, len(one), len(other), line(one, n), line(other, n))
		}
	}
}

func line(lines []string, n int) string {
	if n < len(lines) {
		return lines[n]
	}
	return "the end"
}

// different is the first place where two slices differ, or -1.
func different[T comparable](a, b []T) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// live lives one world, and gives what happened in it.
func live(t *testing.T, seed uint64, how telling) (all *record) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newChaos(t, seed, how)
		defer c.w.End()
		c.live()
		c.settle()
		if t.Failed() {
			t.Logf("replay with: make sim SEED=%d", seed)
		}
		all = &c.record
	})
	return all
}

// patience is how long a world may take to be as it should be, once everybody behaves: a relay that was
// dead is tried a day later, what it lied about is found at the next full resync, and what that makes
// acceptable at the one after.
const patience = 6

// settle lets everybody behave and waits for all to be as it should be.
func (c *chaos) settle() {
	c.log("everybody behaves")
	for _, n := range c.nodes {
		n.Skew(0)
		n.FillDisk(false)
		n.Host().Set(sim.Fine)
		n.Host().Stall(false)
		if _, ok := c.down[n]; ok {
			c.down[n] = c.w.Age()
		}
	}
	for _, f := range c.fakes {
		c.calm(f)
	}
	c.upcoming = nil
	var wrong []string
	for day := range patience {
		c.pass(24 * time.Hour)
		if wrong = c.wrong(); len(wrong) == 0 {
			c.log("settled within %d days", day+1)
			c.quiet()
			c.newcomers()
			return
		}
	}
	c.t.Errorf("after %d days:\n%s", patience, strings.Join(wrong, "\n"))
}

// quiet lets another full resync pass. Where sets are equal and can be reconciled it moves no events. A graspd that found
// NIP-77 of no use reads pages until then.
func (c *chaos) quiet() {
	paged := map[string]bool{}
	for _, n := range c.nodes {
		for _, r := range n.Engine().Relays(c.t.Context()) {
			paged[r.URL.String()] = paged[r.URL.String()] || r.Negentropy == "refused"
		}
	}
	before := map[*testkit.FakeRelay]map[nostr.ID]int{}
	for _, f := range c.fakes {
		before[f] = f.Deliveries()
	}
	had := map[*sim.Graspd]ids{}
	for _, n := range c.nodes {
		had[n] = n.Served()
	}
	c.pass(26 * time.Hour)
	for _, f := range c.fakes {
		if paged[f.URL.String()] || c.timeless(f) || f.Neg != testkit.NegWorks || f.NegNewest+f.Withheld > 0 || slices.ContainsFunc(c.nodes, func(n *sim.Graspd) bool { return c.pages[n] }) {
			continue
		}
		for id, n := range f.Deliveries() {
			if n > before[f][id] && !slices.ContainsFunc(c.nodes, func(n *sim.Graspd) bool { return had[n][id] == nil }) {
				c.t.Errorf("%s sent %s again, which everybody has", f.URL, tell(c.cast.all[id]))
			}
		}
	}
}

// timeless reports whether a relay that is asked for older events of a repository without a name answers with events of any time, of all that its owner
// has: their addresses begin like the one that it is asked for.
func (c *chaos) timeless(f *testkit.FakeRelay) bool {
	return f.Loose && len(c.cast.of(func(e *nostr.Event) bool { return e.Kind == 30617 && e.Tags.D() == "" })) > 0
}

// early lets clients publish what answers a root event before the root event itself. It is there as soon as that is.
func (c *chaos) early() {
	for _, n := range c.nodes {
		for _, a := range c.oracle(n).repositories() {
			root := c.cast.sign(testkit.Someone(97), c.w.Unix(), 1621, nostr.Tag{"a", a.Address()})
			answer := c.cast.sign(testkit.Someone(98), c.w.Unix(), 1111, nostr.Tag{"e", root.ID.String()})
			if v := n.Publish(answer); v.Outcome != policy.Unrelated {
				continue // it shows too little work
			}
			v := n.Publish(root)
			synctest.Wait() // what waited is decided in the batch behind
			if v.Outcome == policy.Accept && !n.Has(answer) {
				c.t.Errorf("%s: %s came before what it answers, and is not here", n.Name, tell(answer))
			}
		}
	}
}

// newcomers publishes on each fake relay what those who follow it should have at once, or at their next sweep.
func (c *chaos) newcomers() {
	type arrival struct {
		e    *nostr.Event
		from *testkit.FakeRelay
	}
	c.early()
	var all []arrival
	for _, f := range c.fakes {
		for _, a := range c.cast.of(func(e *nostr.Event) bool { return e.Kind == 30617 }) {
			e := c.cast.sign(testkit.Someone(99), c.w.Unix(), 1621, nostr.Tag{"a", a.Address()})
			c.log("new on %s: %s", f.URL, tell(e))
			f.Add(e)
			all = append(all, arrival{e, f})
		}
	}
	c.pass(20 * time.Second)
	missing := func(late bool) (out []string) {
		for _, n := range c.nodes {
			o := c.oracle(n)
			w := o.look()
			for _, s := range n.Engine().Relays(c.t.Context()) {
				for _, x := range all {
					if x.from.Kinds == testkit.KindsEmpties { // it may be found out by a full resync only
						continue
					}
					// Where a REQ bears few filters, a repository may not fit into one, and is swept.
					swept := s.SweptRoots > 0 || x.from.Filters.Most > 0 && x.from.Filters.Most < 10
					if x.from.URL == s.URL && (!swept || late) && o.sources[s.URL][x.e.ID] != nil && o.served[x.e.ID] == nil && w.reaches(w.wants[s.URL], x.e) && w.accepts(x.e) {
						out = append(out, fmt.Sprintf("%s: %s has not come from %s", n.Name, tell(x.e), s.URL))
					}
				}
			}
		}
		return out
	}
	if m := missing(false); len(m) > 0 {
		c.t.Errorf("after 20 seconds:\n%s", strings.Join(m, "\n"))
		return
	}
	c.pass(2 * time.Hour)
	if m := missing(true); len(m) > 0 {
		c.t.Errorf("after two hours:\n%s", strings.Join(m, "\n"))
	}
}

// oracle is one that knows everything about a relay and its surroundings.
func (c *chaos) oracle(n *sim.Graspd) oracle {
	served := map[grasp.RelayURL]ids{}
	for _, f := range c.fakes {
		served[f.URL] = ids{}
		for _, e := range f.Events() {
			served[f.URL][e.ID] = e
		}
	}
	for _, n := range c.nodes {
		served[n.URL] = n.Served()
	}
	demands := map[grasp.RelayURL]testkit.KindsMode{}
	for _, f := range c.fakes {
		demands[f.URL] = f.Kinds
	}
	ever := n.Ever()
	for _, id := range n.Gone() {
		if e := c.cast.all[id]; e != nil && e.Kind == nostr.KindDeletion { // what it names is kept away on
			ever[id] = e
		}
	}
	var peers []grasp.RelayURL
	for _, s := range n.Engine().Relays(c.t.Context()) {
		peers = append(peers, s.URL)
	}
	return oracle{
		self: n.URL, now: c.w.Unix(), boot: n.Bootstrap, peers: peers, demands: demands, work: n.MinPoW, all: c.cast.all, served: served[n.URL], ever: ever, sources: served,
	}
}

// wrong is all that is not as it should be.
func (c *chaos) wrong() []string {
	var out []string
	for _, n := range c.nodes {
		o := c.oracle(n)
		for _, s := range append(o.faults(), c.unsettled(n, o)...) {
			out = append(out, n.Name+": "+s)
		}
		if kept := n.Store().Stats().Events; kept != int64(len(o.served)) {
			out = append(out, fmt.Sprintf("%s: %d events are kept, %d are served", n.Name, kept, len(o.served)))
		}
	}
	return out
}

// unsettled tells of a relay that should be connected and is not, or lacks something.
func (c *chaos) unsettled(n *sim.Graspd, o oracle) []string {
	var out []string
	var connected []grasp.RelayURL
	for _, s := range n.Engine().Relays(c.t.Context()) {
		connected = append(connected, s.URL)
		if s.Phase != "live" && !strings.HasPrefix(string(s.URL), nowhere) || s.Phase == "live" && s.Want != s.Confirmed {
			out = append(out, fmt.Sprintf("%s: %+v", s.URL, s))
		}
	}
	want := o.wanted()
	if most := c.slots[n]; most > 0 {
		return append(out, misplaced(connected, want, n.Bootstrap, most)...)
	}
	if !slices.Equal(connected, want) {
		out = append(out, fmt.Sprintf("peers %v, should be %v", connected, want))
	}
	return out
}

// misplaced tells what is wrong with who is connected where there are slots for few relays beside those that the
// operator typed.
func misplaced(connected, want, boot []grasp.RelayURL, slots int) []string {
	typed := func(u grasp.RelayURL) bool { return slices.Contains(boot, u) }
	dead := func(u grasp.RelayURL) bool { return strings.HasPrefix(string(u), nowhere) }
	count := func(of []grasp.RelayURL, match func(grasp.RelayURL) bool) (n int) {
		for _, u := range of {
			if match(u) {
				n++
			}
		}
		return n
	}
	useful := func(u grasp.RelayURL) bool { return !typed(u) && !dead(u) }
	switch {
	case slices.ContainsFunc(connected, func(u grasp.RelayURL) bool { return !slices.Contains(want, u) }),
		count(connected, typed) != count(want, typed),
		count(connected, useful) < min(slots, count(want, useful)),
		len(connected)-count(connected, typed) > slots:
		return []string{fmt.Sprintf("peers %v with %d slots, wanted are %v", connected, slots, want)}
	}
	return nil
}
