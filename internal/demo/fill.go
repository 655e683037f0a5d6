package demo

import (
	"context"
	"path/filepath"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// fill brings git data and events to the others. Each project is on two of them, and neither has all threads about it.
func (d *show) fill(ctx context.Context) error {
	yours, err := grasp.ParseService(d.address.Public.Addr().String())
	if err != nil {
		return err
	}
	now := time.Now().Unix()
	d.bench = bench(filepath.Join(d.dir, "bench"))
	histories, err := d.bench.histories(ctx, len(names), now)
	if err != nil {
		return err
	}
	for i, commits := range histories {
		on := []*neighbour{d.others[i%3], d.others[(i+1)%3]}
		p := newProject(i, []grasp.Service{yours, on[0].Service(), on[1].Service()}, commits, now)
		p.on = on
		d.projects = append(d.projects, p)
		for k, n := range p.on {
			if err := p.push(ctx, d.bench, n); err != nil {
				return err
			}
			if err := n.publish(ctx, p.heard(k)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// heard returns what one of the two relays has of the threads: each relay lacks every third one, and never the same as the other.
func (p *project) heard(k int) (events []*nostr.Event) {
	for i, thread := range p.threads {
		if i%3 != k {
			events = append(events, thread...)
		}
	}
	return events
}
