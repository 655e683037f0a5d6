package main

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
)

// pair is a graspd that has the corpus, at the proxy's address, and one that fills from it.
type pair struct {
	source, target *process
	filled
}

// filled is what a cold catch-up took.
type filled struct {
	events int64 // stored at the end
	took   time.Duration
	bytes  int64         // over the connection, both ways
	cpu    time.Duration // of the process that fills
	sender time.Duration // of the relay that it fills from
	alloc  int64         // by the process that fills
	cut    bool          // it took too long, and this is how far it came
}

const (
	batchWindow = 5 * time.Second        // graspd's own
	looks       = 100 * time.Millisecond // between looks at how far a catch-up has come, each of which takes some of what is measured
)

// connected makes the pair and fills the second from the first.
func (w *world) connected(ctx context.Context) (*pair, error) {
	if w.pair != nil {
		return w.pair, nil
	}
	data, err := w.base(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.proxy.leave(); err != nil {
		return nil, err
	}
	p := &pair{}
	if p.source, err = w.graspdAt(ctx, w.proxy.addr, data, "--sync=false"); err != nil {
		return nil, err
	}
	w.say("filling one graspd from another")
	// The flags matter for (c) only: every reconnect compares everything, and comes soon.
	p.target, p.filled, err = w.fill(ctx, "pair", p.source.cpu, batchWindow, "--sync-quick-reconnect", "1s", "--sync-base-backoff", "100ms", "--sync-max-backoff", "1s")
	if err != nil {
		return nil, err
	}
	if p.cut {
		return nil, errSlow
	}
	w.pair = p
	return p, nil
}

// behindProxy has the proxy stand between both.
func (w *world) behindProxy(ctx context.Context, p *pair) (err error) {
	if err := p.source.stop(); err != nil {
		return err
	}
	if err := w.proxy.stand(); err != nil {
		return err
	}
	if p.source, err = w.graspd(ctx, w.stored, "--sync=false"); err == nil {
		w.proxy.lead(p.source.url[len("ws://"):])
	}
	return err
}

// part ends the pair, which has the corpus's data directory to itself.
func (w *world) part() error {
	if w.pair == nil {
		return nil
	}
	w.proxy.lead("")
	target, source := w.pair.target.stop(), w.pair.source.stop()
	w.pair = nil
	if target != nil {
		return target
	}
	return source
}

// fill starts a graspd with an empty store and waits until it has all that it wants of the relay at the proxy's address. sender is the
// processor time of that relay.
func (w *world) fill(ctx context.Context, name string, sender func() time.Duration, window time.Duration, args ...string) (*process, filled, error) {
	before := sender()
	args = append(args, "--bootstrap", w.proxy.url(), "--sync-allow-private", "--sync-batch-window", window.String())
	g, err := w.graspd(ctx, w.path(name), args...)
	if err != nil {
		return nil, filled{}, err
	}
	waiting, cancel := patience(ctx)
	defer cancel()
	f := filled{}
	changed := g.begun
	err = g.until(waiting, looks, func(s admin.Status) bool {
		if s.Store.Events != f.events {
			f.events, changed, f.cpu, f.sender = s.Store.Events, time.Now(), g.cpu(), sender()-before
		}
		whole := f.events == w.through.stored
		return whole || f.events > 0 && settled(s) && time.Since(changed) > window+2*time.Second
	})
	f.took = changed.Sub(g.begun)
	if context.Cause(waiting) == errSlow {
		f.cut, err = true, nil
	}
	if err == nil {
		f.bytes, err = g.carried(w.proxy.addr)
	}
	if err == nil {
		f.alloc, err = g.allocated(ctx)
	}
	return g, f, err
}

// settled reports whether all that is wanted of the relay is confirmed.
func settled(s admin.Status) bool {
	for _, r := range s.Sync.Relays {
		if r.Phase != "live" || r.Confirmed != r.Want || r.Want.Repositories == 0 {
			return false
		}
	}
	return len(s.Sync.Relays) > 0
}

// catchUp is (b): an empty graspd fills from one that has the corpus, against what the door alone takes.
func (w *world) catchUp(ctx context.Context) (err error) {
	p, err := w.connected(ctx)
	if err != nil {
		return err
	}
	if err := p.target.pause(); err != nil { // it would fill along with the others
		return err
	}
	defer func() {
		if goesOn := p.target.goOn(); err == nil {
			err = goesOn
		}
	}()
	w.addFilled("cold catch-up from graspd", p.filled, true)
	w.say("the same with a batch window of 200 ms")
	quick, err := w.refill(ctx, "quick", p.source.cpu, 200*time.Millisecond)
	if err != nil {
		return err
	}
	w.addFilled("the same with `--sync-batch-window 200ms`", quick, false)
	w.say("the same from khatru")
	if err := p.source.stop(); err != nil {
		return err
	}
	k, err := startKhatru(ctx, w)
	if err != nil {
		return err
	}
	other, err := w.refill(ctx, "from-khatru", spent, batchWindow)
	k.close()
	if err != nil {
		return err
	}
	w.addFilled("cold catch-up from khatru on badger", other, false)
	if missing := w.through.stored - p.events; missing > 0 {
		w.report.note("%d events of the source did not come: only the full resync, which comes later, asks for them.", missing)
	}
	both := each(p.cpu+p.sender, int(p.events))
	w.report.note("From the start of the process until its store has everything. Both relays share the processors of this machine: with %s an event for both no more than %.0f a second can come. "+
		"An event is also parsed here, which (a) has done before, and asked for. `--sync-batch-window` is 5 s unless the line says otherwise.", span(both), float64(runtime.GOMAXPROCS(0))/both.Seconds())
	return nil
}

// addFilled tells what a catch-up took.
func (w *world) addFilled(what string, f filled, targets bool) {
	if f.cut {
		what += ", given up"
	}
	n, t := int(f.events), w.through
	took := line{what: what, measured: rate(n, f.took), against: "(a): " + rate(t.events, t.took), ratio: float64(n) / f.took.Seconds() / (float64(t.events) / t.took.Seconds())}
	mine, its := each(f.cpu, n), each(t.cpu, t.events)
	cpu := line{what: what + ": CPU for each event", measured: span(mine) + ", and " + span(each(f.sender, n)) + " of the sender", against: "(a): " + span(its), ratio: mine.Seconds() / its.Seconds()}
	if targets {
		took.target, took.met = "≥ 0.7", took.ratio >= 0.7
		cpu.target, cpu.met = "≤ 1.25", cpu.ratio <= 1.25
	}
	w.report.add(took)
	w.report.add(cpu)
	got, door := f.alloc/max(f.events, 1), t.allocated/int64(max(t.events, 1))
	w.report.add(line{what: what + ": allocated for each event", measured: size(got), against: "(a): " + size(door), ratio: float64(got) / float64(door)})
}

// refill fills another one and throws it away.
func (w *world) refill(ctx context.Context, name string, sender func() time.Duration, window time.Duration) (filled, error) {
	g, f, err := w.fill(ctx, name, sender, window)
	if err != nil {
		return f, err
	}
	if err := g.stop(); err != nil {
		return f, err
	}
	return f, os.RemoveAll(w.path(name))
}
