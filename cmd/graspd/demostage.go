package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"graspd/internal/corpus"
	"graspd/internal/grasp"
	"graspd/internal/ingest"
	"graspd/internal/nip34"
	"graspd/internal/nostr"
	"graspd/internal/policy"
	"graspd/internal/relayconn"
	"graspd/internal/store"
)

// demoStage is what the demo shows: the relays fill, then a live event crosses.
type demoStage struct {
	nodes []*node
	out   io.Writer
	tty   bool
}

// play runs the show; it ends early with ctx.
func (s *demoStage) play(ctx context.Context) error {
	for i, n := range s.nodes {
		fmt.Fprintf(s.out, "relay %d is %s, or http://%s in a browser\n", i+1, n.service.RelayURL(), n.listen.public.Addr())
	}
	halves := s.corpus()
	fmt.Fprintf(s.out, "relays 1 and 2 each hold half of the repositories, %d events in all; relay 3 is empty and knows only relay 1\n\n", len(halves[0])+len(halves[1]))
	for i, events := range halves {
		if err := load(ctx, s.nodes[i].door, events); err != nil {
			return err
		}
	}
	start := time.Now()
	if err := s.converge(ctx, len(halves[0])+len(halves[1])); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "converged: all three hold the same %d events, after %.1f s\n\n", s.nodes[0].store.Stats().Events, time.Since(start).Seconds())
	return s.cross(ctx)
}

// corpus makes two halves: the events of every other repository, as far as they
// are found by asking for repositories and their root events.
func (s *demoStage) corpus() (halves [2][]*nostr.Event) {
	now := time.Now().Unix()
	o := corpus.Options{Seed: 1, Repositories: 12, Roots: 90, Others: 240, Since: now - 90*86_400, Until: now}
	for _, n := range s.nodes {
		o.Relays = append(o.Relays, string(n.service.RelayURL()))
	}
	c := corpus.Generate(o)
	reach := corpus.NewReach(c.Events())
	for _, it := range c.Items {
		if it.Fate == corpus.Held && it.What != corpus.Deletion && reach.Layer(it.Event) > 0 {
			half := it.Repositories[0] % len(halves)
			halves[half] = append(halves[half], it.Event)
		}
	}
	return halves
}

// load brings events in through a relay's door and waits for the verdicts.
func load(ctx context.Context, door *ingest.Door, events []*nostr.Event) error {
	src := door.Source(ingest.SourceConfig{Label: "demo"})
	defer src.Close()
	var open sync.WaitGroup
	defer open.Wait()
	for _, e := range events {
		open.Add(1)
		if err := src.Submit(ctx, e, store.Direct, func(policy.Verdict) { open.Done() }); err != nil {
			open.Done()
			return err
		}
	}
	return nil
}

// converge prints how the relays fill until all hold the same.
func (s *demoStage) converge(ctx context.Context, total int) error {
	tick := time.NewTicker(demoPoll)
	defer tick.Stop()
	deadline := time.After(demoPatience)
	last := ""
	for {
		line := s.progress(total)
		if line != last {
			s.show(line)
			last = line
		}
		same, err := s.same(ctx)
		if err != nil {
			return err
		}
		if same {
			if s.tty {
				fmt.Fprintln(s.out)
			}
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline:
			return errors.New("the relays did not converge within two minutes")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *demoStage) show(line string) {
	if s.tty {
		fmt.Fprintf(s.out, "\r%s", line)
		return
	}
	fmt.Fprintln(s.out, line)
}

func (s *demoStage) progress(total int) string {
	parts := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		parts[i] = fmt.Sprintf("relay %d: %3d of %d", i+1, n.store.Stats().Events, total)
	}
	return strings.Join(parts, "    ")
}

// same says whether every relay is through with its relays and all hold the
// same events.
func (s *demoStage) same(ctx context.Context) (bool, error) {
	var first []store.Pair
	for i, n := range s.nodes {
		settled := n.engine.Status(ctx)
		if len(settled) < len(s.nodes)-1 {
			return false, ctx.Err()
		}
		for _, r := range settled {
			if r.Phase != "live" {
				return false, nil
			}
		}
		ids, err := held(ctx, n.store)
		if err != nil {
			return false, err
		}
		if i == 0 {
			first = ids
		}
		if !slices.Equal(first, ids) || len(ids) == 0 {
			return false, nil
		}
	}
	return true, nil
}

func held(ctx context.Context, s *store.Store) ([]store.Pair, error) {
	v := s.View()
	defer v.Close()
	var out []store.Pair
	for p, err := range v.Pairs(ctx, nostr.Filter{}, false) {
		if err != nil {
			return nil, fmt.Errorf("read what is stored: %w", err)
		}
		out = append(out, p)
	}
	return out, nil
}

// cross publishes an issue on the relay that was empty and waits until it has
// come to the others by their live subscriptions.
func (s *demoStage) cross(ctx context.Context) error {
	e, err := s.issue(ctx)
	if err != nil {
		return err
	}
	from := s.nodes[len(s.nodes)-1]
	start := time.Now()
	if err := publish(ctx, from, e); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "a new issue is published on relay %d\n", len(s.nodes))
	for i, n := range s.nodes[:len(s.nodes)-1] {
		if err := awaitEvent(ctx, n.store, e.ID); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "it is on relay %d after %d ms\n", i+1, time.Since(start).Milliseconds())
	}
	return nil
}

// issue makes a new issue of the repository announced last.
func (s *demoStage) issue(ctx context.Context) (*nostr.Event, error) {
	v := s.nodes[0].store.View()
	defer v.Close()
	for row, err := range v.Query(ctx, nostr.Filter{Kinds: []nostr.Kind{nip34.KindRepository}, Limit: new(1)}) {
		if err != nil {
			return nil, err
		}
		ann, err := row.Event()
		if err != nil {
			return nil, err
		}
		e := &nostr.Event{
			CreatedAt: time.Now().Unix(), Kind: nip34.KindIssue, Content: "The demo says hello.",
			Tags: nostr.Tags{{"a", ann.Address()}, {"p", ann.PubKey.String()}, {"subject", "Hello"}},
		}
		key, err := loadKey(s.nodes[0].cfg.Data)
		if err != nil {
			return nil, err
		}
		return e, key.Sign(e, [32]byte{})
	}
	return nil, errors.New("no repository to write an issue for")
}

// publish sends an event as a client does and waits for its OK.
func publish(ctx context.Context, n *node, e *nostr.Event) error {
	u, err := grasp.NormalizeRelay("ws://" + n.listen.public.Addr().String())
	if err != nil {
		return err
	}
	c, err := relayconn.New(relayconn.Config{AllowPrivate: true}).Dial(ctx, u)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close("done") }()
	if err := c.Write(ctx, nostr.AppendEventMsg(nil, e)); err != nil {
		return err
	}
	for {
		b, err := c.Read(ctx)
		if err != nil {
			return err
		}
		if m, err := nostr.ParseRelay(b); err == nil {
			if ok, is := m.(nostr.OK); is && ok.ID == e.ID {
				if !ok.OK {
					return fmt.Errorf("the issue was refused: %s", ok.Reason)
				}
				return nil
			}
		}
	}
}

// awaitEvent follows the feed until the event is stored.
func awaitEvent(ctx context.Context, s *store.Store, id nostr.ID) error {
	for {
		_, changed, err := s.Since(s.Head(), 1)
		if err != nil {
			return err
		}
		v := s.View()
		_, ok, err := v.Get(id)
		v.Close()
		if ok || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
