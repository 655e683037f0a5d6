package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relayconn"
)

// neighbour is one of the other relays. It does not sync: it has only what was brought to it.
type neighbour struct {
	*node.Node
	name    string
	weather *weather
	holds   []nostr.ID // its events that yours should have
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
	c.Logger = d.Logger.With("node", name)
	n, err := node.New(c)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &neighbour{Node: n, name: name, weather: w}, nil
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

// publish sends events to a relay, as a client does, and waits for the OK to each.
func publish(ctx context.Context, to grasp.RelayURL, events ...*nostr.Event) error {
	c, err := relayconn.New(relayconn.Config{Net: publicnet.Config{AllowPrivate: true}}).Dial(ctx, to)
	if err != nil {
		return fmt.Errorf("dial %s: %w", to, err)
	}
	defer func() { _ = c.Close("done") }()
	for _, e := range events {
		if err := c.Write(ctx, nostr.AppendEventMsg(nil, e)); err != nil {
			return err
		}
		if err := accepted(ctx, c, e.ID); err != nil {
			return err
		}
	}
	return nil
}

// accepted waits for the OK to an event, and fails where the relay refuses it.
func accepted(ctx context.Context, c *relayconn.Conn, id nostr.ID) error {
	for {
		b, err := c.Read(ctx)
		if err != nil {
			return err
		}
		if m, err := nostr.ParseRelay(b); err == nil {
			if ok, is := m.(nostr.OK); is && ok.ID == id {
				if !ok.OK {
					return fmt.Errorf("an event was refused: %s", ok.Reason)
				}
				return nil
			}
		}
	}
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

// signed signs an event with a new key.
func signed(e *nostr.Event) (*nostr.Event, error) {
	key, err := nostr.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return e, node.Signer(key)(e)
}
