package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/s3"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// sharing is what the figures of (m) are measured on.
type sharing struct {
	*nodes
	small, large   *made
	packs          [][]byte // of the commits that come later in the small one
	places, issues int      // so far
	home           *place   // what issues are about
	alone          figuresOf
}

// figuresOf are those that each latency has.
type figuresOf struct {
	ok, okElsewhere, lag []time.Duration
	events, pushes       float64 // a second
}

// latencies are what is added to each request to the bucket.
var latencies = []time.Duration{0, 5 * time.Millisecond, usual, 60 * time.Millisecond}

// usual is the latency at which everything else is measured.
const usual = 20 * time.Millisecond

// share is (m): three nodes that share a bucket, beside a graspd without one.
func (w *world) share(ctx context.Context) error {
	x := &sharing{nodes: &nodes{world: w}, places: 1000}
	if err := x.make(ctx); err != nil {
		return err
	}
	stored := w.scaled(200_000, leastSize)
	data, err := w.unsigned(ctx, stored, 100)
	if err != nil {
		return err
	}
	delete(w.towns, stored) // the bucket takes it
	w.say("without a bucket")
	if err := x.without(ctx, data); err != nil {
		return err
	}
	if x.bucket, err = w.bucketServer(ctx); err != nil {
		return err
	}
	v := newWay(x.bucket)
	defer v.server.Close()
	w.say("into the bucket")
	if out, err := exec.CommandContext(ctx, w.binary, "bucket", "init", "--bucket", v.url, "--from", data).CombinedOutput(); err != nil {
		return fmt.Errorf("graspd bucket init: %w\n%s", err, out)
	}
	if err := x.fill(ctx, stored); err != nil {
		return err
	}
	for _, d := range latencies {
		w.say("%v more for each request to the bucket", d)
		x.slow(d)
		if err := x.each(ctx); err != nil {
			return err
		}
	}
	x.slow(usual)
	for _, part := range []func(context.Context) error{x.clones, x.rest, x.ends} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, n := range x.all {
		errs = append(errs, n.stop())
	}
	w.report.note("Three nodes, versitygw as an object store, and all clients share the processors of this machine, so what takes the processor is slower here than on machines of their own. Each request "+
		"to the bucket takes so much longer as the row says, and %v where it says nothing. The graspd without a bucket has the same events, and was measured just before. A client that waits for each answer "+
		"publishes %d events; 8 connections send %d more without waiting. %d clients push, to a repository each, one at each node in turn; a state comes before each push. The lag is from OK until another node has sent the "+
		"event to a subscriber; 0 is before OK. Clients of clones drop the bytes. Who publishes while nodes end waits for each answer, at each node that stays.", usual, x.waited(), x.flooded(), pushers)
	return errors.Join(errs...)
}

// waited and flooded are how many events are published one by one, and at once.
func (x *sharing) waited() int  { return x.scaled(100, 5) }
func (x *sharing) flooded() int { return x.scaled(8000, 80) }

// make makes what is pushed.
func (x *sharing) make(ctx context.Context) (err error) {
	if x.small, err = x.makeRepository(ctx, "shared-small", recipe{commits: 100, later: 2 * pushesEach}); err != nil {
		return err
	}
	if x.large, err = x.makeRepository(ctx, "shared-large", recipe{commits: x.scaled(200, 5), ballast: 200_000}); err != nil {
		return err
	}
	old := x.small.main
	for _, next := range x.small.next {
		pack, err := x.small.packOf(ctx, next, old)
		if err != nil {
			return err
		}
		x.packs = append(x.packs, pack)
		old = next
	}
	return nil
}

// without measures a graspd without a bucket.
func (x *sharing) without(ctx context.Context, data string) error {
	g, err := x.graspd(ctx, data, "--git", "--sync=false", "--git-cache", "0")
	if err != nil {
		return err
	}
	if x.home, err = x.place(ctx, g, x.small); err != nil {
		return err
	}
	if err := g.calm(ctx); err != nil {
		return err
	}
	if x.alone, err = x.figures(ctx, []*process{g}); err != nil {
		return err
	}
	return g.stop()
}

// figures measures at graspds, of which the first leads.
func (x *sharing) figures(ctx context.Context, ps []*process) (f figuresOf, err error) {
	last := ps[len(ps)-1]
	if f.ok, f.lag, err = x.waits(ctx, x.waited(), ps[0], last, x.home); err != nil {
		return f, err
	}
	if len(ps) > 1 {
		if f.okElsewhere, _, err = x.waits(ctx, x.waited(), ps[1], last, x.home); err != nil {
			return f, err
		}
	}
	took, err := x.flood(ctx, x.flooded(), ps[0], x.home)
	if err != nil {
		return f, err
	}
	f.events = float64(x.flooded()) / took.Seconds()
	n, took, err := x.pushes(ctx, ps)
	f.pushes = float64(n) / took.Seconds()
	return f, err
}

// fill starts the nodes.
func (x *sharing) fill(ctx context.Context, stored int) error {
	for i, d := range []time.Duration{usual, 0, usual} {
		x.say("an empty node")
		x.slow(d)
		took, err := x.add(ctx)
		if err != nil {
			return err
		}
		if i == 0 {
			continue // which nobody has to compare with
		}
		million := time.Duration(float64(took) / float64(stored) * 1e6)
		x.report.add(line{what: fmt.Sprintf("an empty node until it is ready, about %d events, +%v", stored, d), measured: span(took), target: "≤ 60 s a million", met: million <= time.Minute})
	}
	return nil
}

// each adds what is measured at a latency.
func (x *sharing) each(ctx context.Context) error {
	leader, others, err := x.parted(ctx)
	if err != nil {
		return err
	}
	f, err := x.figures(ctx, []*process{leader.process, others[0].process, others[1].process})
	if err != nil {
		return err
	}
	for _, l := range linesOf(f, x.alone, x.delay) {
		x.report.add(l)
	}
	return nil
}

// linesOf are the rows of what was measured at a latency.
func linesOf(f, alone figuresOf, delay time.Duration) []line {
	name := func(s string) string { return fmt.Sprintf("%s, +%d ms", s, delay.Milliseconds()) }
	waits := func(what string, all, before []time.Duration) line {
		l := line{what: name(what), measured: nearly(all)}
		if before != nil {
			l.against, l.ratio = "without a bucket: "+nearly(before), percentile(all, 50).Seconds()/percentile(before, 50).Seconds()
		}
		return l
	}
	rate := func(what, unit string, now, before float64) line {
		return line{what: name(what), measured: figures(now) + unit, against: "without a bucket: " + figures(before) + unit, ratio: now / before}
	}
	lag := waits("from OK at the leader until seen at a follower", f.lag, nil)
	lag.target, lag.met = "p99 ≤ 50 ms", percentile(f.lag, 99) <= 50*time.Millisecond
	events := rate("events at once at the leader", " events/s", f.events, alone.events)
	if delay == usual {
		events.target, events.met = "≥ 0.5", events.ratio >= 0.5
	}
	return []line{waits("EVENT until OK at the leader", f.ok, alone.ok), waits("EVENT until OK at a follower", f.okElsewhere, alone.ok), lag, events,
		rate("pushes of four clients", " pushes/s", f.pushes, alone.pushes)}
}

// nearly says how long half of some waits took, which are sorted, and nearly all.
func nearly(all []time.Duration) string {
	return span(percentile(all, 50)) + ", 99 of 100 within " + span(percentile(all, 99))
}

// clones measures clones at a follower: of what is there, and of what comes from the bucket first.
func (x *sharing) clones(ctx context.Context) error {
	leader, others, err := x.parted(ctx)
	if err != nil {
		return err
	}
	g := others[0]
	x.say("clones at a follower")
	var cold, warm, transfer []time.Duration
	var bytes int64
	for range 3 {
		p, err := x.place(ctx, leader.process, x.large)
		if err != nil {
			return err
		}
		if _, _, err := x.parted(ctx); err != nil { // the follower has heard of it
			return err
		}
		for i, times := range []*[]time.Duration{&cold, &warm} {
			begun := time.Now()
			if bytes, err = fetch(ctx, p.at(g.process), x.large.main); err != nil {
				return fmt.Errorf("clone %d: %w", i, err)
			}
			*times = append(*times, time.Since(begun))
		}
		took, err := x.transfer(ctx, g.way)
		if err != nil {
			return err
		}
		transfer = append(transfer, took)
	}
	for _, all := range [][]time.Duration{cold, warm, transfer} {
		slices.Sort(all)
	}
	local, all := percentile(warm, 50), percentile(cold, 50)
	both := local + percentile(transfer, 50)
	what := fmt.Sprintf("clone of %s at a follower", size(bytes))
	x.report.add(line{what: what + ", which has it", measured: span(local)})
	x.report.add(atMost(line{what: what + ", cold", measured: span(all), against: "that and the transfer of the pack alone: " + span(both), ratio: all.Seconds() / both.Seconds()}, 1.2))
	return x.unseen(ctx, leader, g)
}

// transfer is how long the largest object among the packs takes from the bucket to here, alone.
func (x *sharing) transfer(ctx context.Context, v *way) (time.Duration, error) {
	at, err := s3.ParseLocation(v.url)
	if err != nil {
		return 0, err
	}
	b, err := s3.Open(at, nil)
	if err != nil {
		return 0, err
	}
	var largest objects.Info
	for after := ""; ; {
		page, err := b.List(ctx, "packs/", after, objects.MaxList)
		if err != nil {
			return 0, err
		}
		for _, o := range page {
			if o.Size > largest.Size {
				largest = o
			}
		}
		if len(page) < objects.MaxList {
			break
		}
		after = page[len(page)-1].Name
	}
	begun := time.Now()
	for from := int64(0); from < largest.Size; from += objects.MaxPart {
		if _, err := b.Get(ctx, largest.Name, from, objects.MaxPart); err != nil {
			return 0, err
		}
	}
	return time.Since(begun), nil
}

// unseen measures what clones at a follower take of the leader and of the bucket.
func (x *sharing) unseen(ctx context.Context, leader, g *bucketNode) error {
	n := x.scaled(100, 5)
	for _, o := range x.all {
		if err := o.calm(ctx); err != nil {
			return err
		}
	}
	if _, err := fetch(ctx, x.home.at(g.process), x.small.main); err != nil { // from now on it is there
		return err
	}
	_, before := x.requests()
	cpu, begun := leader.tree(), time.Now()
	for range n {
		if _, err := fetch(ctx, x.home.at(g.process), x.small.main); err != nil {
			return err
		}
	}
	took := time.Since(begun)
	busy := leader.tree() - cpu
	_, after := x.requests()
	cpu = leader.tree()
	time.Sleep(took)
	idle := leader.tree() - cpu
	what := fmt.Sprintf("%d clones at a follower, which has it: ", n)
	x.report.add(line{what: what + "CPU of the leader", measured: span(busy), against: "at rest, as long: " + span(idle), ratio: busy.Seconds() / max(idle.Seconds(), 0.01),
		target: "≤ 50 ms more", met: busy-idle <= 50*time.Millisecond})
	x.report.add(line{what: what + "requests for packs to the bucket", measured: fmt.Sprint(after - before), target: "0", met: after == before})
	return nil
}

// rest counts what nodes ask the bucket for pushes, and while nothing happens.
func (x *sharing) rest(ctx context.Context) error {
	length := time.Duration(x.scaled(60, 2)) * time.Second
	leader, others, err := x.parted(ctx)
	if err != nil {
		return err
	}
	asking, _ := x.requests()
	pushed, _, err := x.pushes(ctx, []*process{leader.process, others[0].process, others[1].process})
	if err != nil {
		return err
	}
	asked, _ := x.requests()
	x.report.add(line{what: "requests to the bucket of all three nodes for a push, with its state", measured: figures(float64(asked-asking) / float64(pushed+pushers))})
	if _, _, err := x.parted(ctx); err != nil {
		return err
	}
	x.say("%v at rest", length)
	ways := []*way{leader.way, others[0].way}
	var before [2]int64
	for i, v := range ways {
		before[i] = v.all.Load()
	}
	time.Sleep(length)
	for i, who := range []string{"the leader", "a follower"} {
		n := ways[i].all.Load() - before[i]
		x.report.add(line{what: "requests to the bucket at rest, " + who, measured: fmt.Sprintf("%.0f an hour (%d in %v)", float64(n)*float64(time.Hour)/float64(length), n, length)})
	}
	return nil
}

// ends ends the node that leads, in both ways, while clients publish at the others.
func (x *sharing) ends(ctx context.Context) error {
	for _, e := range []struct {
		what   string
		times  int
		most   time.Duration
		end    func(*bucketNode) error
		failed bool // is allowed
	}{
		{"SIGTERM to the leader", 3, time.Second, func(n *bucketNode) error { return n.stop() }, false},
		{"kill -9 of the leader", 1, 12 * time.Second, func(n *bucketNode) error { n.kill(); return nil }, true},
	} {
		var worst written
		for i := range e.times {
			x.say("%s", e.what)
			if !e.failed || i > 0 {
				time.Sleep(time.Second)
			} else {
				time.Sleep(16 * time.Second) // no take-over sooner
			}
			t, err := x.ended(ctx, e.end)
			if err != nil {
				return err
			}
			worst = written{worst.ok + t.ok, worst.failed + t.failed, max(worst.silence, t.silence)}
		}
		l := line{what: fmt.Sprintf("%s: the longest time without an OK, of %d", e.what, e.times), measured: span(worst.silence), target: "≤ " + span(e.most), met: worst.silence <= e.most}
		x.report.add(l)
		l = line{what: e.what + ": writes that failed", measured: fmt.Sprintf("%d of %d", worst.failed, worst.ok+worst.failed)}
		if !e.failed {
			l.target, l.met = "0", worst.failed == 0
		}
		x.report.add(l)
	}
	return nil
}

// ended ends the leader while clients publish at each other node, starts it again, and tells what became of the writes.
func (x *sharing) ended(ctx context.Context, end func(*bucketNode) error) (t written, err error) {
	leader, others, err := x.parted(ctx)
	if err != nil {
		return t, err
	}
	writing, stop := context.WithCancel(ctx)
	defer stop()
	all := make(chan written, len(others))
	for _, n := range others {
		var events []*nostr.Event
		for range 2000 {
			events = append(events, x.issue(x.home))
		}
		go func() { all <- x.keepsWriting(writing, n.process, events) }()
	}
	time.Sleep(500 * time.Millisecond)
	err = end(leader)
	if err == nil {
		err = x.led(ctx, others)
	}
	time.Sleep(2 * time.Second)
	stop()
	for range others {
		o := <-all
		t = written{t.ok + o.ok, t.failed + o.failed, max(t.silence, o.silence)}
	}
	if err != nil {
		return t, err
	}
	_, err = x.begin(ctx, leader)
	return t, err
}

// led waits until one of some nodes leads.
func (x *sharing) led(ctx context.Context, some []*bucketNode) error {
	within, end := context.WithTimeoutCause(ctx, time.Minute, errSlow)
	defer end()
	for ; within.Err() == nil; time.Sleep(50 * time.Millisecond) {
		for _, n := range some {
			if s, err := n.status(within); err == nil && s.Cluster != nil && s.Cluster.Leads {
				return nil
			}
		}
	}
	return context.Cause(within)
}
