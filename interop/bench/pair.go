package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
)

// pair is a graspd that has the corpus, behind the proxy, and one that fills from it.
type pair struct {
	source, target *process
	filled
}

// filled is what a cold catch-up took.
type filled struct {
	events int64 // stored at the end
	took   time.Duration
	bytes  int64 // over the connection, both ways
	cpu    time.Duration
	alloc  int64
	cut    bool // it took too long, and this is how far it came
}

const batchWindow = 5 * time.Second // graspd's own

// connected makes the pair and fills the second from the first.
func (w *world) connected(ctx context.Context) (*pair, error) {
	if w.pair != nil {
		return w.pair, nil
	}
	data, err := w.base(ctx)
	if err != nil {
		return nil, err
	}
	p := &pair{}
	if p.source, err = w.graspd(ctx, data, "--sync=false"); err != nil {
		return nil, err
	}
	w.proxy.lead(p.source.url[len("ws://"):])
	w.say("filling one graspd from another")
	// The flags matter for (c) only: every reconnect compares everything, and comes soon.
	p.target, p.filled, err = w.fill(ctx, "pair", batchWindow, "--sync-quick-reconnect", "1s", "--sync-base-backoff", "100ms", "--sync-max-backoff", "1s")
	if err != nil {
		return nil, err
	}
	if p.cut {
		return nil, errSlow
	}
	w.pair = p
	return p, nil
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

// fill starts a graspd with an empty store and waits until it has all that it wants of the relay behind the proxy.
func (w *world) fill(ctx context.Context, name string, window time.Duration, args ...string) (*process, filled, error) {
	bytes := w.proxy.bytes.Load()
	args = append(args, "--bootstrap", w.proxy.url(), "--sync-allow-private", "--sync-batch-window", window.String())
	g, err := w.graspd(ctx, w.path(name), args...)
	if err != nil {
		return nil, filled{}, err
	}
	waiting, cancel := patience(ctx)
	defer cancel()
	f := filled{}
	changed := g.begun
	err = g.until(waiting, 20*time.Millisecond, func(s admin.Status) bool {
		if s.Store.Events != f.events {
			f.events, changed, f.cpu = s.Store.Events, time.Now(), g.cpu()
		}
		whole := f.events == w.through.stored
		return whole || f.events > 0 && settled(s) && time.Since(changed) > window+2*time.Second
	})
	f.took, f.bytes = changed.Sub(g.begun), w.proxy.bytes.Load()-bytes
	if context.Cause(waiting) == errSlow {
		f.cut, err = true, nil
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
func (w *world) catchUp(ctx context.Context) error {
	p, err := w.connected(ctx)
	if err != nil {
		return err
	}
	against := "(a): " + rate(w.through.events, w.through.took)
	add := func(what string, f filled, target string) {
		if f.cut {
			what += ", given up"
		}
		ratio := float64(f.events) / f.took.Seconds() / (float64(w.through.events) / w.through.took.Seconds())
		w.report.add(line{what: what, measured: rate(int(f.events), f.took) + fmt.Sprintf(", %s of CPU and %s allocated each", span(each(f.cpu, int(f.events))), size(f.alloc/max(f.events, 1))),
			against: against, ratio: ratio, target: target, met: ratio >= 0.8})
	}
	add("cold catch-up from graspd", p.filled, "≥ 0.8")
	w.say("the same with a batch window of 200 ms")
	quick, err := w.refill(ctx, "quick", 200*time.Millisecond)
	if err != nil {
		return err
	}
	add("the same with `--sync-batch-window 200ms`", quick, "")
	w.say("the same from khatru")
	k, err := startKhatru(ctx, w)
	if err != nil {
		return err
	}
	w.proxy.lead(k.addr)
	other, err := w.refill(ctx, "from-khatru", batchWindow)
	k.close()
	w.proxy.lead(p.source.url[len("ws://"):])
	if err != nil {
		return err
	}
	add("cold catch-up from khatru on badger", other, "")
	if missing := w.through.stored - p.events; missing > 0 {
		w.report.note("%d events of the source did not come: only the full resync, which comes later, asks for them.", missing)
	}
	w.report.note("From the start of the process until its store has everything. Both relays share the machine, and a proxy between them counts the bytes. `--sync-batch-window` is 5 s unless the line says otherwise.")
	return nil
}

// refill fills another one and throws it away.
func (w *world) refill(ctx context.Context, name string, window time.Duration) (filled, error) {
	g, f, err := w.fill(ctx, name, window)
	if err != nil {
		return f, err
	}
	if err := g.stop(); err != nil {
		return f, err
	}
	return f, os.RemoveAll(w.path(name))
}
