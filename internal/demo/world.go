package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"graspd/internal/corpus"
	"graspd/internal/grasp"
	"graspd/internal/ingest"
	"graspd/internal/nip11"
	"graspd/internal/node"
	"graspd/internal/nostr"
	"graspd/internal/policy"
	"graspd/internal/publicnet"
	"graspd/internal/relayconn"
	"graspd/internal/store"
)

// neighbour is another relay, which does not sync: it has what was brought to it.
type neighbour struct {
	*node.Node
	name    string
	weather *weather
	holds   []nostr.ID // of what yours is to have
}

func (d *show) neighbour(ctx context.Context, name string, rate int) (*neighbour, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &weather{Listener: l, rate: rate}
	c, err := d.config(name, l.Addr())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	c.Logger = d.log.With("node", name)
	n, err := node.New(c)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &neighbour{Node: n, name: name, weather: w}, nil
}

// config is that of a relay at an address, of a size for a small show.
func (d *show) config(name string, at net.Addr) (node.Config, error) {
	service, err := grasp.ParseService(at.String())
	return node.Config{
		Dir: filepath.Join(d.dir, strings.ReplaceAll(name, " ", "-")), Service: service, Version: d.version, Logger: d.log,
		Info:  nip11.Document{Name: name, Description: "A relay of the demonstration."},
		Store: store.Options{CacheBytes: 8 << 20, Floor: 64 << 20},
	}, err
}

// fill brings events to the others: each repository is on two of them, and neither has all of it.
func (d *show) fill(ctx context.Context) error {
	now := time.Now().Unix()
	o := corpus.Options{Seed: 7, Repositories: 24, Roots: 500, Others: 1300, Since: now - 90*86_400, Until: now, RelaysEach: 2}
	o.Service = "ws://" + d.address.Public.Addr().String()
	for _, n := range d.others {
		o.Relays = append(o.Relays, string(n.Service().RelayURL()))
	}
	c := corpus.Generate(o)
	reach := corpus.NewReach(c.Events())
	var events []*nostr.Event
	for _, it := range c.Items {
		if it.Fate == corpus.Held && it.What != corpus.Deletion && reach.Layer(it.Event) > 0 {
			events = append(events, it.Event)
		}
	}
	known := make(map[nostr.ID]bool)
	for i, n := range d.others {
		err := load(ctx, n.Door, slices.DeleteFunc(slices.Clone(events), func(e *nostr.Event) bool {
			return !e.Kind.IsAddressable() && int(e.ID[0])%5 == i // no two lack the same
		}))
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

// heldBy returns the ids of what a relay has.
func heldBy(ctx context.Context, s *store.Store) (map[nostr.ID]bool, error) {
	v := s.View()
	defer v.Close()
	out := make(map[nostr.ID]bool)
	for p, err := range v.Pairs(ctx, nostr.Filter{}, false) {
		if err != nil {
			return nil, fmt.Errorf("read what is stored: %w", err)
		}
		out[p.ID] = true
	}
	return out, nil
}

// publish sends an event to a relay, as a client does, and waits for its OK.
func publish(ctx context.Context, addr net.Addr, e *nostr.Event) error {
	u, err := grasp.NormalizeRelay("ws://" + addr.String())
	if err != nil {
		return err
	}
	c, err := relayconn.New(relayconn.Config{Net: publicnet.Config{AllowPrivate: true}}).Dial(ctx, u)
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
					return fmt.Errorf("an event was refused: %s", ok.Reason)
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

// signed makes an event of a person who was not there before.
func signed(e *nostr.Event) (*nostr.Event, error) {
	key, err := nostr.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return e, node.Signer(key)(e)
}
