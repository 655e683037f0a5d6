package node

import (
	"context"
	"slices"
	"time"

	"graspd/internal/grasp"
	"graspd/internal/plan"
	"graspd/internal/publicnet"
	"graspd/internal/relayconn"
	"graspd/internal/relaysync"
)

func (n *Node) newEngine(who Identity) *relaysync.Engine {
	c, s := n.cfg, n.cfg.Sync
	e := s.Engine
	e.Store, e.Door, e.Service, e.Bootstrap, e.Lists = n.Store, n.Door, c.Service, s.Bootstrap, c.Lists
	e.Self, e.Sign = who.PubKey, who.Sign
	e.Faults = n.faults
	if e.Logger == nil {
		e.Logger = c.Logger
	}
	begun := time.Now()
	e.Now = func() plan.Now { return plan.Now{Mono: time.Since(begun), Wall: c.Now()} }
	if e.Dialer = s.Dialer; e.Dialer == nil {
		e.Dialer = dialer{relayconn.New(relayconn.Config{
			Net:       publicnet.Config{AllowPrivate: s.AllowPrivate, Service: c.Service.Host()},
			Exempt:    func(u grasp.RelayURL) bool { return slices.Contains(s.Bootstrap, u) },
			UserAgent: "graspd/" + c.Version,
		})}
	}
	return relaysync.New(e)
}

// dialer gives the engine connections as its own interface.
type dialer struct{ *relayconn.Dialer }

func (d dialer) Dial(ctx context.Context, u grasp.RelayURL) (relaysync.Conn, error) {
	c, err := d.Dialer.Dial(ctx, u)
	if err != nil {
		return nil, err
	}
	return c, nil
}
