package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// issue is one about a place that no other is.
func (x *sharing) issue(p *place) *nostr.Event {
	x.issues++
	owner := p.owner.PubKey().String()
	return sign(key(1000), time.Now().Unix(), nip34.KindIssue, fmt.Sprint("issue ", x.issues), nostr.Tag{"a", "30617:" + owner + ":" + p.d}, nostr.Tag{"p", owner})
}

// waits publishes one issue after the other at a graspd, and follows another one: how long each took until OK, and from then until it was seen live.
func (x *sharing) waits(ctx context.Context, n int, at, seen *process, p *place) (ok, lag []time.Duration, err error) {
	c, err := connect(ctx, at.url)
	if err != nil {
		return nil, nil, err
	}
	defer c.CloseNow()
	live, err := connect(ctx, seen.url)
	if err != nil {
		return nil, nil, err
	}
	defer live.CloseNow()
	if err := live.Send(ctx, nostr.AppendReq(nil, "live", nostr.Filter{Kinds: []nostr.Kind{nip34.KindIssue}, Limit: new(int)})); err != nil {
		return nil, nil, err
	}
	if m, err := live.Receive(ctx); err != nil || m != (nostr.EOSE{Sub: "live"}) {
		return nil, nil, fmt.Errorf("instead of EOSE: %+v, %w", m, err)
	}
	within, end := context.WithTimeoutCause(ctx, time.Minute, errSlow)
	defer end()
	shown := map[nostr.ID]time.Time{}
	done := make(chan error, 1)
	go func() {
		for len(shown) < n {
			m, err := live.Receive(within)
			if err != nil {
				done <- fmt.Errorf("%d of %d events were seen live: %w", len(shown), n, err)
				return
			}
			if e, is := m.(nostr.RelayEvent); is {
				shown[e.Event.ID] = time.Now()
			}
		}
		done <- nil
	}()
	oks := map[nostr.ID]time.Time{}
	for range n {
		e := x.issue(p)
		begun := time.Now()
		if err := c.publish(within, e); err != nil {
			return nil, nil, err
		}
		oks[e.ID] = time.Now()
		ok = append(ok, oks[e.ID].Sub(begun))
	}
	if err := <-done; err != nil {
		return nil, nil, err
	}
	for id, t := range oks {
		lag = append(lag, max(0, shown[id].Sub(t)))
	}
	slices.Sort(ok)
	slices.Sort(lag)
	return ok, lag, nil
}

// flood publishes issues on some connections at once, without waiting on each, and tells how long they take.
func (x *sharing) flood(ctx context.Context, n int, at *process, p *place) (time.Duration, error) {
	const connections = 8
	var lots [connections][]*nostr.Event
	var clients []*client
	for i := range lots {
		c, err := connect(ctx, at.url)
		if err != nil {
			return 0, err
		}
		defer c.CloseNow()
		clients = append(clients, c)
		for range n / connections {
			lots[i] = append(lots[i], x.issue(p))
		}
	}
	begun := time.Now()
	err := together(connections, func(i int) error { return clients[i].publish(ctx, lots[i]...) })
	return time.Since(begun), err
}

// together does something n times at once.
func together(n int, do func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// pushers is how many clients push at once.
const pushers = 4

// pushes has clients push one commit after the other, each to a repository of its own and at the next graspd, and tells how many that were in what
// time. Each push comes after its state.
func (x *sharing) pushes(ctx context.Context, ps []*process) (int, time.Duration, error) {
	var places [pushers]*place
	for i := range places {
		var err error
		if places[i], err = x.place(ctx, ps[0], x.small); err != nil {
			return 0, 0, err
		}
	}
	begun := time.Now()
	err := together(pushers, func(i int) error {
		g, p := ps[i%len(ps)], places[i]
		c, err := connect(ctx, g.url)
		if err != nil {
			return err
		}
		defer c.CloseNow()
		old := x.small.main
		for n, next := range x.small.next {
			if err := c.publish(ctx, p.state(map[string]gitwire.ObjectID{mainRef: next})); err != nil {
				return err
			}
			if err := push(ctx, p.at(g), pushBody(map[string]gitwire.ObjectID{mainRef: next}, old, x.packs[n])); err != nil {
				return err
			}
			old = next
		}
		return nil
	})
	return pushers * len(x.small.next), time.Since(begun), err
}

// place is a new repository at a graspd, with what was made.
func (x *sharing) place(ctx context.Context, g *process, m *made) (*place, error) {
	c, err := connect(ctx, g.url)
	if err != nil {
		return nil, err
	}
	defer c.CloseNow()
	x.places++
	p, err := newPlace(ctx, g, c, x.places, fmt.Sprint("shared-", x.places))
	if err != nil {
		return nil, err
	}
	return p, p.fill(ctx, c, m)
}

// written is what became of writes.
type written struct {
	ok, failed int
	silence    time.Duration // the longest time in which none was answered by OK
}

// keepsWriting publishes at a graspd until ctx ends, one event after the other, and connects anew where the connection ends.
func (x *sharing) keepsWriting(ctx context.Context, at *process, events []*nostr.Event) (t written) {
	last := time.Now()
	var c *client
	for _, e := range events {
		for c == nil && ctx.Err() == nil {
			var err error
			if c, err = connect(ctx, at.url); err != nil {
				c = nil
				time.Sleep(10 * time.Millisecond)
			}
		}
		if ctx.Err() != nil {
			break
		}
		if err := c.publish(ctx, e); err != nil {
			if ctx.Err() == nil {
				t.failed++
			}
			c.CloseNow()
			c = nil
			continue
		}
		t.ok++
		t.silence = max(t.silence, time.Since(last))
		last = time.Now()
		time.Sleep(10 * time.Millisecond)
	}
	if c != nil {
		c.CloseNow()
	}
	t.silence = max(t.silence, time.Since(last))
	return t
}
