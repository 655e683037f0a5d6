package node

import (
	"context"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/sync/relayconn"
	"github.com/graspd/graspd/internal/sync/relaysync"
)

func (n *Node) newEngine(who Identity) *relaysync.Engine {
	c, s := n.cfg, n.cfg.Sync
	e := s.Engine
	e.Store, e.Door, e.Service, e.Bootstrap, e.Lists = n.Store, n.Door, c.Service, s.Bootstrap, c.Lists
	e.Index, e.Peer.Mailboxes = s.Index, c.Mailboxes
	e.Self, e.Sign = who.PubKey, who.Sign
	e.Faults = n.faults
	if n.peers != nil {
		e.Guard = n.peers
	}
	if e.Logger == nil {
		e.Logger = c.Logger
	}
	e.Now = clock(c.Now)
	if e.Dialer = s.Dialer; e.Dialer == nil {
		e.Dialer = dialer{relayconn.New(relayconn.Config{
			Net:       publicnet.Config{AllowPrivate: s.AllowPrivate, Service: c.Service.Host()},
			Exempt:    n.typed,
			UserAgent: "graspd/" + c.Version,
		})}
	}
	return relaysync.New(e)
}

// typed reports whether the operator has named the relay as one to fill from, as an archive or as an index. Such a relay may have any
// address.
func (n *Node) typed(u grasp.RelayURL) bool {
	_, archived := n.rules.Rules().Lists.Archive.Hosts[u]
	return archived || slices.Contains(n.cfg.Sync.Bootstrap, u) || slices.Contains(n.cfg.Sync.Index, u)
}

// clock reads the steady clock and the wall clock. The wall clock comes without a monotonic reading, so that the engine notices a clock that
// was set and a machine that slept.
func clock(wall func() time.Time) func() backoff.Now {
	begun := time.Now()
	return func() backoff.Now { return backoff.Now{Mono: time.Since(begun), Wall: wall().Round(0)} }
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
