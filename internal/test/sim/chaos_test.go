package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

// chaos is a world in which everything happens that can, as a seed has it.
type chaos struct {
	t        testing.TB
	w        *sim.World
	r        *rand.Rand
	rare     *rand.Rand // what few worlds have
	cast     *cast
	fakes    []*testkit.FakeRelay
	nodes    []*sim.Graspd
	upcoming []posting
	pages    map[*sim.Graspd]bool          // it uses no negentropy
	slots    map[*sim.Graspd]int           // for relays that nobody typed; 0 = enough
	down     map[*sim.Graspd]time.Duration // until when it stays stopped
	how      telling
	record   record
}

// telling is what becomes of the story of a world.
type telling int

const (
	untold   telling = iota
	recorded         // line by line
	told             // to the test's output as well
)

// posting is an event that reaches a relay later.
type posting struct {
	at time.Duration
	e  *nostr.Event
	to grasp.RelayURL
}

func newChaos(t testing.TB, seed uint64, how telling) *chaos {
	w := sim.New(t, seed)
	r := rand.New(rand.NewPCG(seed, 3))
	c := &chaos{t: t, w: w, r: r, rare: rand.New(rand.NewPCG(seed, 7)), down: map[*sim.Graspd]time.Duration{}, pages: map[*sim.Graspd]bool{}, slots: map[*sim.Graspd]int{}, how: how}
	if how == told {
		w.Tell()
	}
	work := pick(c.rare, 0, 0, 0, 0, 0, 4)
	for i := range 1 + r.IntN(4) {
		c.fakes = append(c.fakes, c.fake(fmt.Sprintf("fake%d.example.net", i)))
	}
	for i := range 1 + r.IntN(3) {
		c.nodes = append(c.nodes, c.graspd(fmt.Sprintf("graspd%d.example.org", i), work))
	}
	c.cast = &cast{r: r, work: work, now: w.Unix, all: ids{}, seconds: map[int64]int{}}
	c.cast.relays = append(append(c.cast.relays, c.urls()...), nowhere)
	for _, n := range c.nodes {
		// Everybody knows somebody; the first knows a fake relay.
		n.Bootstrap = []grasp.RelayURL{c.fakes[0].URL}
		if r.IntN(2) == 0 {
			n.Bootstrap = append(n.Bootstrap, pick(r, c.urls()...))
		}
	}
	return c
}

// log tells what happens, and makes it part of what a seed stands for.
func (c *chaos) log(format string, args ...any) {
	if c.how == untold {
		return
	}
	line := fmt.Sprintf("%12v ", c.w.Age()) + fmt.Sprintf(format, args...)
	c.record.add(line)
	if c.how == told {
		c.t.Log(line)
	}
}

// record is what happened in a run, line by line.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

func (c *chaos) urls() []grasp.RelayURL {
	var out []grasp.RelayURL
	for _, f := range c.fakes {
		out = append(out, f.URL)
	}
	for _, n := range c.nodes {
		out = append(out, n.URL)
	}
	return out
}

// fake makes a relay of some character.
func (c *chaos) fake(name string) *testkit.FakeRelay {
	f, r := c.w.Fake(name), c.r
	tooMany := []testkit.Bound{
		{Most: 20, How: testkit.ByNoticeLate, Text: "ERROR: too many concurrent REQs"},
		{Most: 10, How: testkit.ByNotice, Text: "Subscription rejected: Too many subscriptions: Number of subscriptions must be less than or equal to 10"},
		{Most: 32, How: testkit.ByNotice, Text: "Subscription error: Maximum concurrent subscription count reached"},
		{Most: 5, How: testkit.ByClosed, Text: "rate-limited: too many REQs"},
	}
	f.Habits = testkit.Habits{
		PageCap: pick(r, 0, 0, 500, 20, 7), Oldest: r.IntN(6) == 0, Moody: r.IntN(8) == 0,
		Honest: r.IntN(2) == 0, Zero: pick(r, testkit.ZeroFine, testkit.ZeroFine, testkit.ZeroMute, testkit.ZeroRefused),
		Neg: pick(r, testkit.NegWorks, testkit.NegWorks, testkit.NegWorks, testkit.NegNotice, testkit.NegClosed, testkit.NegErr,
			testkit.NegError, testkit.NegSilent, testkit.NegDrop, testkit.NegUnknown),
		Auth:       pick(r, testkit.AuthNone, testkit.AuthNone, testkit.AuthNone, testkit.AuthFirst, testkit.AuthLate, testkit.AuthNotice),
		NegRecords: pick(r, 0, 0, 0, 30), NegNewest: pick(r, 0, 0, 0, 150), Withheld: pick(r, 0, 0, 0, 8),
	}
	if c.rare.IntN(3) == 0 {
		f.NegNewest, f.NegVaries = pick(c.rare, 1, 3, 10, 40, 100), c.rare.IntN(4) == 0
		f.Given = pick(c.rare, 0, 0, 2, 60)
	}
	// These need pages that hold more than what nobody asked for, and than one second brings.
	f.Loose, f.Quarter = r.IntN(6) == 0 && (f.PageCap == 0 || f.PageCap == 500), r.IntN(6) == 0 && f.PageCap > 7
	switch c.rare.IntN(12) { // whatever a page has, it holds what one second brings
	case 0:
		f.First = true
	case 1:
		f.Any = true
	case 2:
		f.Inside = true
	case 3:
		f.Sifted, f.First = true, c.rare.IntN(2) == 0
	}
	if f.First || f.Any || f.Inside || f.Sifted {
		f.PageCap, f.Neg = pick(c.rare, 20, 50), pick(c.rare, f.Neg, testkit.NegNotice)
	}
	if r.IntN(3) == 0 {
		f.Subs = pick(r, tooMany...)
	}
	if r.IntN(4) == 0 {
		f.Filters = testkit.Bound{Most: pick(r, 10, 6), How: pick(r, testkit.ByClosed, testkit.ByNotice), Text: "ERROR: bad req: arr too big"}
	}
	switch c.rare.IntN(16) {
	case 0:
		f.Kinds = testkit.KindsRefuses
	case 1:
		f.Kinds = testkit.KindsFew
	case 2: // no relay is known that does this and reconciles
		f.Kinds, f.Neg = testkit.KindsEmpties, testkit.NegNotice
	}
	if r.IntN(5) == 0 {
		f.Values = testkit.Bound{Most: pick(r, 50, 10), How: pick(r, testkit.ByClosed, testkit.ByEOSE), Text: "too many tag values"}
	}
	if r.IntN(3) > 0 {
		f.Info = &nip11.Document{Name: name}
		if f.Subs.Most > 0 && r.IntN(2) == 0 {
			f.Info.Limitation.MaxSubscriptions, f.MaxSubs = f.Subs.Most, f.Subs.Most
		}
		f.Info.Limitation.MaxLimit = pick(r, 0, 500, f.PageCap)
	}
	c.log("%s: %+v", name, f.Habits)
	f.Tap = func(conn int, up bool, frame []byte) {
		c.log("%s %d %s %.300s", name, conn, map[bool]string{true: "<", false: ">"}[up], frame)
	}
	return f
}

// graspd makes one that is as usual, or that is short of everything.
func (c *chaos) graspd(name string, work int) *sim.Graspd {
	r := c.r
	// Pings, and the records of relays on disk, would make up most of what happens in weeks, so few have many of them.
	often, o := r.IntN(24) == 0, sim.Options{Ping: pick(r, 5*time.Minute, 20*time.Minute, 20*time.Minute, 40*time.Minute, 40*time.Minute)}
	if often {
		o.Ping = 30 * time.Second
	}
	o.Ping += c.odd()
	if r.IntN(3) == 0 {
		o.Door = ingest.Limits{QueueEvents: pick(r, 0, 1, 8), BatchEvents: pick(r, 0, 1, 5), OrphanEvents: pick(r, 0, 8, 40)}
	}
	if r.IntN(3) == 0 {
		o.Limits = relay.Limits{
			Subscriptions: pick(r, 0, 5, 12), Filters: pick(r, 0, 10), Limit: pick(r, 0, 20), Values: pick(r, 0, 100),
			Reconcile: relay.ReconcileLimits{PerConnection: pick(r, 0, 1), Records: pick(r, 0, 10, 40)},
		}
	}
	odd := c.odd()
	peer := peer.Config{NoNegentropy: r.IntN(8) == 0, WholeFrom: pick(r, 0, 1)}
	if r.IntN(3) == 0 {
		peer.MaxTags, peer.MaxFilters = pick(r, 0, 2, 10), pick(r, 0, 10, 20)
	}
	o.MinPoW = pick(c.rare, 0, work)
	slots := pick(c.rare, 0, 0, 0, 0, 0, 0, 0, 1, 2)
	o.Engine = func(x *relaysync.Config) {
		x.Peer, x.MaxRelays = peer, slots
		if !often {
			x.KeepEvery = time.Hour + odd
		}
	}
	c.log("%s: %+v %+v %+v, %d bits, %d slots", name, o.Door, o.Limits, peer, o.MinPoW, slots)
	n := c.w.Graspd(name, o)
	c.pages[n], c.slots[n] = peer.NoNegentropy, slots
	return n
}

// odd is some nanoseconds. Added to an interval they keep it from ending at the moment at which others do that began
// with it: which of several timers of one moment goes first is decided anew in each run.
func (c *chaos) odd() time.Duration { return time.Duration(1 + c.r.IntN(1_000_000)) }

// temper is how a relay is when it does not behave.
func (c *chaos) temper() *testkit.Temper {
	of := func(most int) int { return pick(c.r, 0, 0, 0, c.r.IntN(most+1)) }
	return &testkit.Temper{
		Messages: pick(c.rare, 0, 0, 0, 0, 60, 200), RefuseDial: of(90), Busy: of(30), Drop: of(5), Silence: of(20), Closed: of(30), Notice: of(20), LoseLive: of(30), ForgetLive: of(10),
		Double: of(30), Unknown: of(20), LateEOSE: of(20), Forged: of(30), Mismatch: of(10), Junk: of(10), Big: of(2), NegLost: of(20),
	}
}

// happen lets one thing happen.
func (c *chaos) happen() {
	switch p := c.r.IntN(40); {
	case p < 22:
		for range 1 + c.r.IntN(6) {
			c.publish()
		}
	case p < 24:
		f := pick(c.r, c.fakes...)
		t := c.temper()
		c.log("%s has a temper: %+v", f.URL, *t)
		f.Temper.Store(t)
	case p == 24:
		c.calm(pick(c.r, c.fakes...))
	case p == 25:
		f := pick(c.r, c.fakes...)
		c.log("%s refuses connections", f.URL)
		f.RefuseDial.Store(true)
	case p == 26:
		f := pick(c.r, c.fakes...)
		c.log("%s drops everybody", f.URL)
		f.Drop()
	case p == 27:
		f := pick(c.r, c.fakes...)
		c.log("%s falls silent", f.URL)
		f.Silent.Store(true)
	case p == 28:
		f := pick(c.r, c.fakes...)
		c.log("%s stalls", f.URL)
		f.Stall(true)
	case p == 29:
		f := pick(c.r, c.fakes...)
		f.Status.Store(pick(c.r, int32(429), 503, 404))
		c.log("%s answers %d", f.URL, f.Status.Load())
	case p == 30:
		f := pick(c.r, c.fakes...)
		if made := f.Events(); len(made) > 0 {
			e := pick(c.r, made...)
			c.log("%s loses %s", f.URL, tell(e))
			f.Delete(e.ID)
		}
	case p < 35:
		c.restart(pick(c.r, c.nodes...))
	case p == 35:
		n, d := pick(c.r, c.nodes...), time.Duration(c.r.IntN(49)-24)*time.Hour
		c.log("the clock of %s is %v ahead", n.Name, d)
		n.Skew(d)
	case p == 36:
		n, f := pick(c.r, c.nodes...), pick(c.r, sim.Fine, sim.Refuses, sim.Swallows, sim.Unresolved)
		c.log("host %s: %d", n.Name, f)
		n.Host().Set(f)
	case p == 37:
		n := pick(c.r, c.nodes...)
		c.log("host %s is cut off", n.Name)
		n.Host().Cut()
	case p == 38:
		n, on := pick(c.r, c.nodes...), c.r.IntN(2) == 0
		c.log("host %s stalls: %v", n.Name, on)
		n.Host().Stall(on)
	case p == 39:
		n, on := pick(c.r, c.nodes...), c.r.IntN(2) == 0
		c.log("the disk of %s is full: %v", n.Name, on)
		n.FillDisk(on)
	}
}

// restart stops a graspd in one way or another, for a while.
func (c *chaos) restart(n *sim.Graspd) {
	if !n.Running() {
		return
	}
	if c.r.IntN(2) == 0 {
		c.log("%s stops", n.Name)
		n.Stop()
	} else {
		c.log("%s loses its power", n.Name)
		n.Crash()
	}
	c.down[n] = c.w.Age() + pick(c.r, 0, time.Second, time.Minute, time.Duration(c.r.Int64N(int64(30*time.Hour))))
}

// publish lets somebody publish something, here and there, now and later.
func (c *chaos) publish() {
	e := c.cast.invent()
	to := c.concerned(e)
	c.log("published: %s %v", tell(e), e.Tags)
	for _, u := range c.urls() {
		wanted := slices.Contains(to, u)
		switch {
		case wanted && c.r.IntN(4) > 0, !wanted && c.r.IntN(8) == 0:
			c.post(posting{e: e, to: u})
		case wanted && c.r.IntN(3) == 0:
			c.upcoming = append(c.upcoming, posting{c.w.Age() + time.Duration(c.r.Int64N(int64(50*time.Hour))), e, u})
		}
	}
}

// concerned are the relays that the newest announcements name to which e belongs.
func (c *chaos) concerned(e *nostr.Event) []grasp.RelayURL {
	var out []grasp.RelayURL
	add := func(a *nostr.Event) {
		for _, raw := range list(a, "relays") {
			if u, err := grasp.NormalizeRelay(raw); err == nil {
				out = append(out, u)
			}
		}
	}
	about := append(values(e, "a", "A", "q"), e.Address())
	for _, id := range values(e, "e", "E", "q") {
		if root := c.cast.all[parseID(id)]; root != nil {
			about = append(about, values(root, "a")...)
		}
	}
	for _, a := range about {
		a = strings.Replace(a, "30618:", "30617:", 1)
		for _, ann := range c.cast.made {
			if ann.Kind == 30617 && ann.Address() == a {
				add(ann)
			}
		}
	}
	return out
}

// post brings an event to a relay.
func (c *chaos) post(p posting) {
	for _, f := range c.fakes {
		if f.URL == p.to {
			c.log("  on %s", p.to)
			f.Add(p.e)
			return
		}
	}
	for _, n := range c.nodes {
		if n.URL == p.to && n.Running() {
			v := n.Publish(p.e)
			c.log("  on %s: %v", p.to, v)
		}
	}
}

// pass lets time go by, with what it brings.
func (c *chaos) pass(d time.Duration) {
	end := c.w.Age() + d
	for {
		next := end
		for _, at := range c.down {
			next = min(next, at)
		}
		for _, p := range c.upcoming {
			next = min(next, p.at)
		}
		if wait := next - c.w.Age(); wait > 0 {
			time.Sleep(wait)
			synctest.Wait()
		}
		for _, n := range c.nodes {
			if at, ok := c.down[n]; ok && at <= c.w.Age() {
				c.log("%s starts", n.Name)
				n.Start()
				delete(c.down, n)
			}
		}
		i := slices.IndexFunc(c.upcoming, func(p posting) bool { return p.at <= c.w.Age() })
		for ; i >= 0; i = slices.IndexFunc(c.upcoming, func(p posting) bool { return p.at <= c.w.Age() }) {
			p := c.upcoming[i]
			c.upcoming = slices.Delete(c.upcoming, i, i+1)
			c.log("later: %s", tell(p.e))
			c.post(p)
		}
		if c.w.Age() >= end {
			return
		}
	}
}

// calm lets a relay behave.
func (c *chaos) calm(f *testkit.FakeRelay) {
	c.log("%s behaves", f.URL)
	f.Temper.Store(nil)
	f.RefuseDial.Store(false)
	f.Silent.Store(false)
	f.Status.Store(0)
	f.Stall(false)
	if f.Lossy() {
		f.Drop() // what it has forgotten stays forgotten
	}
}

// live lets weeks pass.
func (c *chaos) live() {
	for _, n := range c.nodes {
		c.down[n] = c.w.Age() + time.Duration(c.r.Int64N(int64(time.Hour)))
	}
	for range c.r.IntN(40) {
		c.publish()
	}
	for range 10 + c.r.IntN(60) {
		c.happen()
		c.pass(pick(c.r, 0, time.Duration(c.r.Int64N(int64(time.Second))), time.Duration(c.r.Int64N(int64(time.Minute))),
			time.Duration(c.r.Int64N(int64(20*time.Minute))), time.Duration(c.r.Int64N(int64(30*time.Hour)))))
	}
}

// nowhere is the beginning of the URLs of a relay that nobody can reach.
const nowhere = "wss://nowhere.example.com"
