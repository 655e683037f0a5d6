package demo

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/demo/corpus"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// repositories is how many repositories the demo has.
const repositories = 12

// options returns the options of the demo's corpus, without relays and Sign.
func options(now int64) corpus.Options {
	return corpus.Options{Seed: 7, Repositories: repositories, Roots: 500, Others: 1300, Since: now - 90*86_400, Until: now, RelaysEach: 2}
}

// fill brings git data and events to the others. Each repository is on two of them, and neither has all events about it.
func (d *show) fill(ctx context.Context) error {
	now := time.Now().Unix()
	d.bench = bench(filepath.Join(d.dir, "bench"))
	made, err := d.bench.commits(ctx, repositories, now)
	if err != nil {
		return err
	}
	h := newHistories(made)
	o := options(now)
	o.Sign, o.Service = h.finish, "ws://"+d.address.Public.Addr().String()
	for _, n := range d.others {
		o.Relays = append(o.Relays, string(n.Service().RelayURL()))
	}
	var about []*nostr.Event
	d.projects, about = written(corpus.Generate(o), h)
	known := make(map[nostr.ID]bool)
	for i, n := range d.others {
		for _, p := range d.projects {
			if slices.Contains(p.relays, o.Relays[i]) {
				if err := p.push(ctx, d.bench, n.Node); err != nil {
					return err
				}
			}
		}
		err := load(ctx, n.Door, slices.DeleteFunc(slices.Clone(about), func(e *nostr.Event) bool { return int(e.ID[0])%5 == i })) // no two relays lack the same events
		if err != nil {
			return err
		}
		held, err := heldBy(ctx, n.Store)
		if err != nil {
			return err
		}
		for id := range held {
			n.holds = append(n.holds, id)
			known[id] = true
		}
	}
	d.total = len(known)
	return nil
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
