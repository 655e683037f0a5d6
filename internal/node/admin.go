package node

import (
	"graspd/internal/admin"
	"graspd/internal/metrics"
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
		c.Sync, m.Sync = n.Engine, n.Engine
	}
	c.Metrics = metrics.Handler(m)
	return admin.New(c)
}
