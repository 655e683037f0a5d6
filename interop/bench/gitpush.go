package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// pushesEach is how many commits are pushed to a repository: fewer than packs that are worth combining.
const pushesEach = 5

// pushed are times of pushes, and of what is beside them.
type pushed struct{ answered, shown, alone []time.Duration }

// pushes measures pushes of one commit each.
func (x *ground) pushes(ctx context.Context) error {
	n := x.scaled(20, 2)
	x.say("%d pushes", n*pushesEach)
	var bodies [][]byte
	old := x.small.main
	for _, next := range x.small.next {
		pack, err := x.small.packOf(ctx, next, old)
		if err != nil {
			return err
		}
		bodies = append(bodies, pushBody(map[string]gitwire.ObjectID{mainRef: next}, old, pack))
		old = next
	}
	var ours []*place
	var theirs []string
	for i := range n {
		p, err := x.place(ctx, x.small)
		if err != nil {
			return err
		}
		url, err := x.backend.add(ctx, x.small, fmt.Sprintf("push-%d.git", i))
		if err != nil {
			return err
		}
		ours, theirs = append(ours, p), append(theirs, url)
	}
	if err := x.g.calm(ctx); err != nil {
		return err
	}
	c, err := connect(ctx, x.g.url)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	live, err := connect(ctx, x.g.url)
	if err != nil {
		return err
	}
	defer live.CloseNow()
	if err := live.Send(ctx, nostr.AppendReq(nil, "live", nostr.Filter{Kinds: []nostr.Kind{nip34.KindState, nip34.KindIssue}, Limit: new(int)})); err != nil {
		return err
	}
	if m, err := live.Receive(ctx); err != nil || m != (nostr.EOSE{Sub: "live"}) {
		return fmt.Errorf("instead of EOSE: %+v, %w", m, err)
	}
	var took pushed
	before := x.g.tree()
	for i, body := range bodies {
		for _, p := range ours {
			if err := x.pushed(ctx, c, live, p, x.small.next[i], body, &took); err != nil {
				return err
			}
		}
	}
	if err := x.g.childless(ctx); err != nil {
		return err
	}
	cpu := each(x.g.tree()-before, n*pushesEach)
	before = children()
	for _, body := range bodies {
		for _, url := range theirs {
			if err := push(ctx, url, body); err != nil {
				return err
			}
			x.backend.running.Wait()
		}
	}
	beside := each(children()-before, n*pushesEach)
	before = x.g.tree()
	for _, p := range ours {
		for i := range pushesEach {
			if err := x.alone(ctx, c, live, p, i, &took); err != nil {
				return err
			}
		}
	}
	event := each(x.g.tree()-before, n*pushesEach)
	x.report.add(atMost(line{what: "push of one commit: CPU of the server, with the state event before it", measured: span(cpu), against: "`git receive-pack` by http-backend: " + span(beside),
		ratio: cpu.Seconds() / beside.Seconds()}, 1))
	x.report.add(line{what: "an event alone: CPU", measured: span(event), against: "a push: " + span(cpu), ratio: event.Seconds() / cpu.Seconds()})
	for _, all := range [][]time.Duration{took.answered, took.shown, took.alone} {
		slices.Sort(all)
	}
	for _, p := range []int{50, 99} {
		answered, shown, alone := percentile(took.answered, p), percentile(took.shown, p), percentile(took.alone, p)
		l := line{what: fmt.Sprintf("push until it is answered with `ok`, p%d", p), measured: span(answered), against: "an event until a subscriber has it: " + span(alone),
			ratio: answered.Seconds() / alone.Seconds()}
		m := l
		m.what, m.measured, m.ratio = fmt.Sprintf("push until a subscriber has the state event, p%d", p), span(shown), shown.Seconds()/alone.Seconds()
		if p == 99 {
			const more = 100 * time.Millisecond
			l.target, l.met = "≤ 100 ms more", answered-alone <= more
			m.target, m.met = "≤ 100 ms more", shown-alone <= more
		}
		x.report.add(l)
		x.report.add(m)
	}
	x.report.note("%d pushes to %d repositories, one after the other, by a client that has the pack; git has `receive.fsckObjects`, the `http-backend` in front and a pre-receive hook that does nothing, and writes loose objects without waiting for the disk, as it does by default. The two runs follow each other.", n*pushesEach, n)
	return nil
}

// pushed publishes a state and pushes what it names. The times count from the push.
func (x *ground) pushed(ctx context.Context, c, live *client, p *place, tip gitwire.ObjectID, body []byte, took *pushed) error {
	state := p.state(map[string]gitwire.ObjectID{mainRef: tip})
	if err := c.publish(ctx, state); err != nil {
		return err
	}
	begun := time.Now()
	answered := make(chan error, 1)
	var until time.Duration
	go func() {
		err := push(ctx, p.url, body)
		until = time.Since(begun)
		answered <- err
	}()
	shown, err := live.shows(ctx, state.ID, begun)
	if err := <-answered; err != nil {
		return err
	}
	if err != nil {
		return err
	}
	took.answered, took.shown = append(took.answered, until), append(took.shown, shown)
	return nil
}

// alone publishes an issue.
func (x *ground) alone(ctx context.Context, c, live *client, p *place, i int, took *pushed) error {
	at := strings.Join([]string{"30617", p.owner.PubKey().String(), p.d}, ":")
	e := sign(p.owner, p.now, nip34.KindIssue, fmt.Sprint("an issue ", i), nostr.Tag{"a", at}, nostr.Tag{"p", p.owner.PubKey().String()})
	begun := time.Now()
	if err := c.publish(ctx, e); err != nil {
		return err
	}
	shown, err := live.shows(ctx, e.ID, begun)
	took.alone = append(took.alone, shown)
	return err
}

// shows waits for an event and tells how long that was.
func (c *client) shows(ctx context.Context, id nostr.ID, since time.Time) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errSlow)
	defer cancel()
	for {
		m, err := c.Receive(ctx)
		if err != nil {
			return 0, fmt.Errorf("waiting for an event: %w", err)
		}
		if e, is := m.(nostr.RelayEvent); is && e.Event.ID == id {
			return time.Since(since), nil
		}
	}
}
