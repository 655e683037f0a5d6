package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// The load of (d).
const (
	liveRelays = 100
	sameEvent  = 5   // relays that send each event
	perSecond  = 100 // events
	villages   = 200 // repositories, each on sameEvent of the relays
	rootsEach  = 10
)

// hamlet is a repository with its root events.
type hamlet struct {
	roots []*nostr.Event
	on    []*standIn
}

// live is (d): relays send events, and a subscriber of graspd gets them.
func (w *world) live(ctx context.Context) error {
	town := newRelays(liveRelays)
	w.closers = append(w.closers, town.close)
	g, err := w.graspd(ctx, w.path("live"), "--sync-allow-private", "--sync-batch-window", "200ms")
	if err != nil {
		return err
	}
	w.say("connecting %d relays", liveRelays)
	hamlets, err := w.settle(ctx, g, town)
	if err != nil {
		return err
	}
	return errors.Join(w.delays(ctx, g, hamlets), g.stop())
}

// delays has events sent by relays, and then by a client, and measures how long they are under way.
func (w *world) delays(ctx context.Context, g *process, hamlets []hamlet) error {
	n := min(30*perSecond, max(w.options.events/50, perSecond/2))
	w.say("%d events, each from %d relays", n, sameEvent)
	before := g.cpu()
	alloc, err := g.allocated(ctx)
	if err != nil {
		return err
	}
	syscall.Sync() // what other parts wrote is not to delay these
	runtime.GC()   // nor is what this process has in memory
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	stop := jitter(ctx)
	relayed, err := listen(ctx, g, n, 0, hamlets, func(ctx context.Context, h hamlet, root string, e *nostr.Event) error {
		return fromRelays(ctx, h.on, root, e.AppendJSON(nil))
	})
	late := stop()
	if err != nil {
		return err
	}
	cpu := each(g.cpu()-before, n)
	after, err := g.allocated(ctx)
	if err != nil {
		return err
	}
	w.say("%d events from a client", n)
	c, err := connect(ctx, g.url)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	go func() { // the answers are not of interest
		for {
			if _, err := c.Receive(ctx); err != nil {
				return
			}
		}
	}()
	direct, err := listen(ctx, g, n, n, hamlets, func(ctx context.Context, _ hamlet, _ string, e *nostr.Event) error {
		return c.Send(ctx, nostr.AppendEventMsg(nil, e))
	})
	if err != nil {
		return err
	}
	for _, p := range []int{50, 99} {
		r, d := percentile(relayed, p), percentile(direct, p)
		l := line{what: fmt.Sprintf("from a remote relay to a subscriber, p%d", p), measured: span(r), against: "from a client of ours: " + span(d), ratio: r.Seconds() / d.Seconds()}
		if p == 99 {
			l.target, l.met = "< 10 ms", r < 10*time.Millisecond
		}
		w.report.add(l)
	}
	w.report.add(line{what: "how late the machine wakes who sleeps for 5 ms, in the same time, p50, p99 and p99.9",
		measured: span(percentile(late, 50)) + ", " + span(percentile(late, 99)) + " and " + span(late[(len(late)-1)*999/1000])})
	w.report.add(line{what: "CPU for each event that five relays send", measured: span(cpu)})
	w.report.add(line{what: "allocated for each of them", measured: size((after - alloc) / int64(n))})
	w.report.note("%d relays connected, %d events at %d a second, each sent by %d relays; the relays and the subscriber share the machine. On its way an event wakes some eight goroutines, one after the other.", liveRelays, n, perSecond, sameEvent)
	return nil
}

// settle publishes the repositories and waits until graspd is live on all relays.
func (w *world) settle(ctx context.Context, g *process, town *relays) ([]hamlet, error) {
	hamlets := make([]hamlet, villages)
	var events []*nostr.Event
	for i := range hamlets {
		owner, d := key(1000+i), fmt.Sprint("village-", i)
		list := nostr.Tag{"relays", service}
		for k := range sameEvent {
			n := (i*7 + k*13) % liveRelays
			hamlets[i].on = append(hamlets[i].on, town.all[n])
			list = append(list, town.urls[n])
		}
		events = append(events, sign(owner, until, 30617, "", nostr.Tag{"d", d}, list))
		for k := range rootsEach {
			e := sign(key(k), until+int64(k), 1621, "an issue", nostr.Tag{"a", "30617:" + owner.PubKey().String() + ":" + d})
			hamlets[i].roots = append(hamlets[i].roots, e)
			events = append(events, e)
		}
	}
	c, err := connect(ctx, g.url)
	if err != nil {
		return nil, err
	}
	defer c.CloseNow()
	if err := c.publish(ctx, events...); err != nil {
		return nil, err
	}
	ctx, cancel := patience(ctx)
	defer cancel()
	return hamlets, g.until(ctx, 100*time.Millisecond, func(s admin.Status) bool {
		roots := 0
		for _, r := range s.Sync.Relays {
			roots += r.Confirmed.Roots
		}
		return roots == villages*rootsEach*sameEvent && settled(s)
	})
}

// fromRelays has all send the event at once.
func fromRelays(ctx context.Context, all []*standIn, value string, json []byte) error {
	for _, x := range all {
		if err := x.send(ctx, value, json); err != nil {
			return err
		}
	}
	return nil
}

// listen subscribes at graspd, has n comments sent at the rate of the load, and returns how long each was under way, sorted.
func listen(ctx context.Context, g *process, n, from int, hamlets []hamlet, send func(context.Context, hamlet, string, *nostr.Event) error) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c, err := connect(ctx, g.url)
	if err != nil {
		return nil, err
	}
	defer c.CloseNow()
	if err := c.Send(ctx, nostr.AppendReq(nil, "live", nostr.Filter{Kinds: []nostr.Kind{nostr.KindComment}, Limit: new(int)})); err != nil {
		return nil, err
	}
	if m, err := c.Receive(ctx); err != nil || m != (nostr.EOSE{Sub: "live"}) {
		return nil, fmt.Errorf("instead of EOSE: %+v, %w", m, err)
	}
	var sent sync.Map // when, by id
	go func() {
		if err := pace(ctx, n, from, hamlets, func(h hamlet, root string, e *nostr.Event) error {
			sent.Store(e.ID, time.Now())
			return send(ctx, h, root, e)
		}); err != nil {
			cancel(err)
		}
	}()
	slow := time.AfterFunc(time.Minute+time.Duration(n)*time.Second/perSecond, func() { cancel(fmt.Errorf("not all of %d events came", n)) })
	defer slow.Stop()
	var delays []time.Duration
	for len(delays) < n {
		m, err := c.Receive(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		if e, is := m.(nostr.RelayEvent); is {
			if at, known := sent.Load(e.Event.ID); known {
				delays = append(delays, time.Since(at.(time.Time)))
			}
		}
	}
	slices.Sort(delays)
	return delays, nil
}

// pace makes n comments and has them sent at the rate of the load.
func pace(ctx context.Context, n, from int, hamlets []hamlet, send func(hamlet, string, *nostr.Event) error) error {
	events, values := make([]*nostr.Event, n), make([]string, n)
	for i := range events {
		root := hamlets[(from+i)%villages].roots[i%rootsEach]
		values[i] = root.ID.String()
		events[i] = comment(key(i%50), time.Now().Unix(), root.ID, fmt.Sprint("comment ", from+i))
	}
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	for i, e := range events {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := send(hamlets[(from+i)%villages], values[i], e); err != nil {
			return err
		}
	}
	return nil
}

func percentile(sorted []time.Duration, p int) time.Duration { return sorted[(len(sorted)-1)*p/100] }
