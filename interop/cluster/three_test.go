package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
	"github.com/graspd/graspd/interop/wire"
)

// mishaps are what happens to nodes.
var mishaps = []string{"is killed", "is killed, and down for long", "freezes", "is told to end", "is thrown away with its disk", "is cut off from the bucket", "is cut off from the bucket for long",
	everybodyCut}

const everybodyCut = "and all others are cut off from the bucket"

// chaos has things happen to nodes, also several at once, and counts them.
type chaos struct {
	*nodes
	r    *rand.Rand
	done map[string]int
	work sync.WaitGroup

	mu   sync.Mutex
	busy map[int]bool // machines to which something is happening; -1 is the bucket
}

// run has things happen for a while: each kind in turn, in any order, two of three to the node that leads.
func (x *chaos) run(length time.Duration) {
	var turn []int
	begun := time.Now()
	for n := 0; time.Since(begun) < length || len(x.done) < 2; n++ { // one thing alone proves little
		if len(turn) == 0 {
			turn = x.r.Perm(len(mishaps))
		}
		what := mishaps[turn[0]]
		turn = turn[1:]
		i := x.r.IntN(len(x.machines))
		for j, m := range x.machines {
			if n%3 < 2 && m == x.leader() {
				i = j
			}
		}
		free := x.take(i)
		for j := 0; j < len(x.machines) && !free; j++ { // to another one, where something is happening to that
			i, free = j, x.take(j)
		}
		if free {
			x.done[what]++
			x.happen(what, i)
		}
		time.Sleep(time.Duration(500+x.r.IntN(5000)) * time.Millisecond)
	}
	x.work.Wait()
}

// take reports whether nothing is happening to a machine.
func (x *chaos) take(i int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.busy[i] {
		return false
	}
	x.busy[i] = true
	return true
}

// happen has something happen to a machine, which takes its time.
func (x *chaos) happen(what string, i int) {
	m, some := x.machines[i], time.Duration(1+x.r.IntN(12))*time.Second
	before := x.r.IntN(2) == 0
	x.t.Logf("%s %s (%v)", x.letter(m), what, some)
	x.harm(i)
	x.work.Go(func() {
		switch what {
		case "is killed":
			m.kill()
		case "is killed, and down for long":
			m.signal(syscall.SIGKILL, some+8*time.Second)
			time.Sleep(some + 8*time.Second)
		case "freezes":
			m.signal(syscall.SIGSTOP, 0)
			time.Sleep(some)
			m.signal(syscall.SIGCONT, 0)
		case "is told to end":
			m.signal(syscall.SIGTERM, 0)
		case "is thrown away with its disk":
			m.burn(before)
		case "is cut off from the bucket":
			x.cut(some, i)
		case "is cut off from the bucket for long": // as the leader, it gives way
			x.cut(some+15*time.Second, i)
		case everybodyCut:
			x.cut(some, 0, 1, 2)
		}
		x.harm(i)
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.busy, i)
	})
}

// cut cuts machines off from the bucket for a while.
func (x *chaos) cut(d time.Duration, which ...int) {
	x.harm(which...)
	for _, i := range which {
		x.proxies[i].away.Store(true)
	}
	time.Sleep(d)
	for _, i := range which {
		x.proxies[i].away.Store(false)
	}
	x.harm(which...)
}

// TestThreeNodes: three nodes share a bucket behind bad proxies while people publish, read, follow, push and clone at them, and all kinds of things
// happen to them. With -repositories, their bucket is made of a data directory that has so many. Nothing that heard OK is missing where it did, no connection reads backwards, and no clone fails at a node that is well; in the
// end all nodes are level and sound, and have all.
func TestThreeNodes(t *testing.T) {
	s := begin(t)
	prefix := newPrefix()
	before := madeBefore(t, s, prefix)
	ns := newNodes(t, s, prefix, 3)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var watching, all sync.WaitGroup
	watched, unwatch := context.WithCancel(t.Context())
	defer unwatch()
	watching.Go(func() { ns.watch(watched) })

	p := &people{nodes: ns, acked: map[nostr.PubKey][]acked{}, at: map[*machine][]nostr.ID{}, read: map[string]int{}}
	p.reset()
	repositories := []*repository{newRepository(t, "proj"), newRepository(t, "second")}
	dice := rand.New(rand.NewPCG(3, 3))
	for _, r := range repositories {
		if p.publishes(ctx, dice, r.announcement()) == nil {
			t.Fatal("it is not announced")
		}
		for r.said == "" {
			p.push(ctx, dice, r)
		}
	}
	if !ns.become("level", ns.unlevel) {
		return
	}
	p.reset()
	for n := range 3 {
		all.Go(func() { p.writes(ctx, 2+n) })
		all.Go(func() { p.follows(ctx, n) })
	}
	for n, r := range repositories {
		all.Go(func() { p.pushesTo(ctx, n, r) })
		all.Go(func() { p.clones(ctx, n, slices.Concat(repositories, before)...) })
		all.Go(func() { p.reads(ctx, n, repositories...) })
	}
	if len(before) > 0 {
		all.Go(func() { p.pushesTo(ctx, len(repositories), before...) })
	}
	ns.mu.Lock()
	ns.leads = leading{last: time.Now(), term: ns.leads.term}
	ns.mu.Unlock()
	x := &chaos{nodes: ns, r: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)), done: map[string]int{}, busy: map[int]bool{}}
	begun := time.Now()
	x.run(*length)
	ns.mu.Lock()
	leads := ns.leads
	ns.mu.Unlock()
	lived := time.Since(begun)
	ns.become("well", ns.unwell)
	time.Sleep(3 * time.Second) // for all to go on
	end()
	all.Wait()

	for _, q := range ns.proxies {
		q.plain.Store(true)
	}
	if ns.become("level", ns.unlevel) {
		p.everywhere(t)
	}
	ns.become("level", ns.unlevel)
	unwatch()
	watching.Wait()
	p.settled(t, repositories)
	p.allThere(t, before)
	ns.sound(t, s)

	requests := int64(0)
	for _, q := range ns.proxies {
		requests += q.requests.Load()
	}
	t.Logf("%v: %v; somebody began to lead %d times; nobody led for %v in all, for %v at the longest; %d requests to the bucket\n%s", lived.Round(time.Second), x.done, leads.changes,
		leads.total.Round(time.Millisecond), leads.longest.Round(time.Millisecond), requests,
		table(p.writing.row("publishing"), p.reading.row("reading"), p.following.row("following"), p.lag.row("OK until seen live"), p.pushing.row("pushing"), p.cloning.row("cloning")))
	if p.writing.count("OK") < 100 || p.pushing.count("ok") < 4 || p.cloning.count("whole") < 4 || p.lag.count("events") < 100 || len(x.done) < 2 {
		t.Error("that proves little")
	}
}

// everywhere publishes at each node that takes that, and requires that it comes live at all.
func (p *people) everywhere(t *testing.T) {
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	var follow []*wire.Client
	for _, m := range p.machines {
		c, err := m.dial(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseNow()
		if err := c.Send(ctx, fmt.Appendf(nil, `["REQ","s",{"kinds":[%d],"limit":0}]`, nip34.KindIssue)); err != nil {
			t.Fatal(err)
		}
		if x, err := c.Receive(ctx); err != nil {
			t.Fatal(x, err)
		}
		follow = append(follow, c)
	}
	for i, m := range p.machines {
		if !writesAnywhere {
			m = p.leader()
		}
		e := testkit.Issue(testkit.Key(100+i), time.Now().Unix(), testkit.RepositoryAddress(owner, "proj"), "in the end")
		if !publishes(ctx, m, e) {
			t.Errorf("%s does not take an event", p.letter(m))
			return
		}
		p.ok(m, e)
		for j, c := range follow {
			if x, err := c.Receive(ctx); err != nil {
				t.Errorf("%s does not bring an event: %v", p.letter(p.machines[j]), err)
			} else if got, is := x.(nostr.RelayEvent); !is || got.Event.ID != e.ID {
				t.Errorf("%s brings %+v", p.letter(p.machines[j]), x)
			}
		}
	}
}

// settled requires that each node has all that heard OK, and what git said ok to.
func (p *people) settled(t *testing.T, repositories []*repository) {
	for _, m := range p.machines {
		if lost := missing(t, m, p.all); len(lost) > 0 {
			t.Errorf("%s does not have %d of %d events that heard OK: %.3q\n%s", p.letter(m), len(lost), len(p.all), lost, m.logs.tail())
		}
		if !clonesAnywhere && m != p.leader() {
			continue
		}
		for _, r := range repositories {
			r.isThere(t, m)
		}
	}
}

// sound requires that all that the nodes leave behind is the same, and sound.
func (ns *nodes) sound(t *testing.T, s *server) {
	for _, m := range ns.machines {
		m.stop()
	}
	direct := strings.Replace(ns.machines[0].bucket, strings.SplitAfter(ns.machines[0].bucket, "endpoint=")[1], "http://"+s.address, 1)
	alone := filepath.Join(t.TempDir(), "alone")
	command(t, "bucket", "export", "--bucket", direct, alone)
	if out := command(t, "check", "--data", alone); !strings.Contains(out, "sound") {
		t.Error(out)
	}
	want := command(t, "export", "--data", alone)
	places := map[string]bool{}
	for _, m := range ns.machines {
		if out := command(t, "check", "--data", m.dir, "--bucket", direct); !strings.Contains(out, "sound") {
			t.Errorf("%s: %s", ns.letter(m), out)
		}
		if command(t, "export", "--data", m.dir) != want {
			t.Errorf("%s has something else than an export of the bucket", ns.letter(m))
		}
		log := bucketlog.New(open(t, s.address, strings.TrimPrefix(strings.SplitN(direct, "?", 2)[0], "s3://name/")))
		st, err := store.Open(store.Options{Dir: filepath.Join(m.dir, "store"), Log: log})
		if err != nil {
			t.Errorf("%s: %v", ns.letter(m), err)
			continue
		}
		at := st.LogPlace()
		places[fmt.Sprintf("%d %x", at.Position, at.Chain)] = true
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(places) != 1 {
		t.Errorf("they are at %v", places)
	}
	t.Log(command(t, "bucket", "status", "--bucket", direct))
	if err := os.RemoveAll(alone); err != nil {
		t.Error(err)
	}
}
