package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// neighbour is one of the other relays. It does not sync: it has only what was brought to it.
type neighbour struct {
	*node.Node
	name    string
	weather *weather
}

func (d *show) neighbour(name string, rate int) (*neighbour, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c, err := d.config(name, l.Addr())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	c.Logger = d.Logger.With("node", name)
	n, err := node.New(c)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &neighbour{Node: n, name: name, weather: &weather{Listener: l, rate: rate}}, nil
}

// config returns the configuration of a relay at an address, with bounds for a small show.
func (d *show) config(name string, at net.Addr) (node.Config, error) {
	service, err := grasp.ParseService(at.String())
	return node.Config{
		Dir: filepath.Join(d.dir, strings.ReplaceAll(name, " ", "-")), Service: service, Version: d.Version, Logger: d.Logger,
		Info:  nip11.Document{Name: name, Description: "A relay of the demonstration."},
		Store: store.Options{CacheBytes: 8 << 20, Floor: 64 << 20}, Git: &node.Git{},
	}, err
}

// publish brings events in through the relay's door, waits for the verdicts, and fails where the relay refuses one.
func (n *neighbour) publish(ctx context.Context, events ...*nostr.Event) error {
	src := n.Door.Source(ingest.SourceConfig{Label: "demo"})
	defer src.Close()
	refused := make([]error, len(events))
	var open sync.WaitGroup
	for i, e := range events {
		open.Add(1)
		err := src.Submit(ctx, e, store.Direct, func(v policy.Verdict) {
			defer open.Done()
			if !v.OK() {
				refused[i] = fmt.Errorf("%s refuses an event: %s", n.name, v.Reason)
			}
		})
		if err != nil {
			open.Done()
			refused[i] = err
			break
		}
	}
	open.Wait()
	return errors.Join(refused...)
}

// heldBy returns the ids of the events in a store.
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

// awaitEvent follows the feed of a store until the event is stored.
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
