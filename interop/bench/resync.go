package main

import (
	"context"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// resynced is what a comparison of two sets took.
type resynced struct {
	took  time.Duration
	bytes int64
	moved int // events that the source sent

	brought int // events that the target stored
}

// resync is (c): a connection is lost and comes back, and everything is compared.
func (w *world) resync(ctx context.Context) error {
	p, err := w.connected(ctx)
	if err != nil {
		return err
	}
	if err := w.behindProxy(ctx, p); err != nil {
		return err
	}
	// Long enough for the target to find out that both hold nearly the same.
	quiet, cancel := patience(ctx)
	defer cancel()
	if err := p.target.until(quiet, 20*time.Millisecond, still(20*time.Second)); err != nil {
		return err
	}
	w.say("comparing equal sets")
	equal, err := w.again(ctx, p, nil)
	if err != nil {
		return err
	}
	w.addResync("equal sets", equal, p.filled, 0.005, time.Second)
	// Some are about root events that the target lacks, and are not asked for.
	news := w.news(max(w.corpus.n/100, 1))
	w.say("comparing sets that differ by %d events", len(news))
	differ, err := w.again(ctx, p, news)
	if err != nil {
		return err
	}
	w.addResync(fmt.Sprintf("sets that differ by %d", differ.brought), differ, p.filled, 0, 0)
	w.report.note("graspd had found before that the relay holds nearly the same, and asks it as a whole. A proxy between both cuts the connection; the time is from the next dial until everything is confirmed. Bytes are those of the connection, both ways. Events moved are those that the source sent.")
	return nil
}

// still reports whether all that is wanted has been confirmed for a while, and nothing came.
func still(d time.Duration) func(admin.Status) bool {
	events, since := int64(-1), time.Now()
	return func(s admin.Status) bool {
		if !settled(s) || s.Store.Events != events {
			events, since = s.Store.Events, time.Now()
		}
		return time.Since(since) >= d
	}
}

func (w *world) addResync(what string, r resynced, full filled, most float64, within time.Duration) {
	share := float64(r.bytes) / float64(full.bytes)
	l := line{what: what + ": bytes", measured: size(r.bytes), against: "a full transfer: " + size(full.bytes), ratio: share}
	t := line{what: what + ": time", measured: span(r.took), against: "cold catch-up: " + span(full.took), ratio: r.took.Seconds() / full.took.Seconds()}
	m := line{what: what + ": events moved", measured: fmt.Sprint(r.moved), against: fmt.Sprintf("a full transfer: %d", full.events), ratio: float64(r.moved) / float64(full.events)}
	if within > 0 {
		l.target, l.met = fmt.Sprintf("< %g", most), share < most
		t.target, t.met = "< "+span(within), r.took < within
		m.target, m.met = "0", r.moved == 0
	}
	for _, x := range []line{t, l, m} {
		w.report.add(x)
	}
}

// news are comments on all sorts of root events, of all times.
func (w *world) news(n int) []*nostr.Event {
	events := make([]*nostr.Event, n)
	for i := range events {
		at := int64(since + (until-since)/n*i)
		events[i] = comment(key(i%20), at, w.corpus.roots[i*len(w.corpus.roots)/n], fmt.Sprint("a comment that came while nobody was connected, number ", i))
	}
	return events
}

// again cuts the connection, has the source take news, and waits until the target has compared everything and has them.
func (w *world) again(ctx context.Context, p *pair, news []*nostr.Event) (r resynced, err error) {
	ctx, cancel := patience(ctx)
	defer cancel()
	w.proxy.lead("")
	if err := p.target.until(ctx, 20*time.Millisecond, func(s admin.Status) bool { return !settled(s) }); err != nil {
		return r, err
	}
	select {
	case <-time.After(1500 * time.Millisecond): // longer than what a quick reconnect may take
	case <-ctx.Done():
	}
	if err := tell(ctx, p.source, news); err != nil {
		return r, err
	}
	const sent = "graspd_relay_sent_events_total"
	before, err := p.source.metric(ctx, sent)
	if err != nil {
		return r, err
	}
	has, err := p.target.status(ctx)
	if err != nil {
		return r, err
	}
	bytes, want := w.proxy.bytes.Load(), has.Store.Events+int64(len(news))
	w.proxy.lead(p.source.url[len("ws://"):])
	var at time.Time
	select {
	case at = <-w.proxy.dials:
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
	stored, done := has.Store.Events, time.Time{} // done is when all was confirmed and the last event had come
	err = p.target.until(ctx, 10*time.Millisecond, func(s admin.Status) bool {
		if !settled(s) {
			done = time.Time{}
			return false
		}
		if done.IsZero() || s.Store.Events != stored {
			stored, done = s.Store.Events, time.Now()
			r.bytes = w.proxy.bytes.Load() - bytes
		}
		return stored >= want || time.Since(done) > 3*time.Second
	})
	if err != nil {
		return r, err
	}
	r.took, r.brought = done.Sub(at), int(stored-has.Store.Events)
	after, err := p.source.metric(ctx, sent)
	r.moved = int(after - before)
	return r, err
}

// tell publishes events, if there are any.
func tell(ctx context.Context, g *process, events []*nostr.Event) error {
	if len(events) == 0 {
		return nil
	}
	c, err := connect(ctx, g.url)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	return c.publish(ctx, events...)
}
