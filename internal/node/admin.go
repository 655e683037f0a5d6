package node

import (
	"context"

	"graspd/internal/admin"
	"graspd/internal/grasp"
	"graspd/internal/metrics"
	"graspd/internal/relaysync"
)

// adminPages are what the private listener tells.
func (n *Node) adminPages() *admin.Pages {
	c := admin.Config{
		URL: n.cfg.Service.RelayURL(), Version: n.cfg.Version, Store: n.Store, Door: n.Door, Self: n.self, Backup: n.Backup, Hosts: n.cfg.AdminHosts,
		Faults:  n.faults,
		Clients: func() (int, int) { s := n.Relay.Stats(); return s.Sessions, s.Subscriptions },
	}
	m := metrics.Config{Version: c.Version, Store: n.Store, Door: n.Door, Relay: n.Relay, Faults: n.faults}
	if n.Engine != nil {
		c.Sync, m.Sync = engineStatus{n.Engine}, engineStatus{n.Engine}
	}
	c.Metrics = metrics.Handler(m)
	return admin.New(c)
}

// engineStatus tells how the engine stands.
type engineStatus struct{ *relaysync.Engine }

func (e engineStatus) Relays(ctx context.Context) []admin.Relay {
	all := e.Status(ctx)
	out := make([]admin.Relay, len(all))
	for i, s := range all {
		out[i] = admin.Relay(s)
	}
	return out
}

func (e engineStatus) Details(ctx context.Context) map[grasp.RelayURL]admin.Details {
	out := make(map[grasp.RelayURL]admin.Details)
	for u, d := range e.Engine.Details(ctx) {
		out[u] = admin.Details(d)
	}
	return out
}
