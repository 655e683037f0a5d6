package main

import (
	"log/slog"
	"net/netip"
	"time"

	"graspd/internal/front"
	"graspd/internal/grasp"
	"graspd/internal/nip11"
	"graspd/internal/node"
	"graspd/internal/plan"
	"graspd/internal/policy"
	"graspd/internal/relaysync"
	"graspd/internal/store"
)

// Config is every setting of graspd. The flag table in flags.go gives each its
// flag, its environment variable and its default, which for a setting of a part is that part's own.
type Config struct {
	// Listen is the address of the relay: WebSocket, NIP-11 and the page for browsers, all on /.
	Listen string
	// AdminListen is the address of the private listener: status.json, healthz, readyz; "" is none.
	AdminListen string
	AdminHosts  []string
	// Domain is the host[:port] under which announcements list this relay.
	Domain string
	// MinPoW is the proof of work that an event must show, in bits.
	MinPoW int
	// AllowPubKeys, DenyPubKeys, AllowRepositories and DenyRepositories are entries of lists, or
	// @FILE for the entries of a file.
	AllowPubKeys, DenyPubKeys, AllowRepositories, DenyRepositories []string
	// TrustedProxies are the reverse proxies whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Data is the directory of the store and of the relay's own key.
	Data string
	// Cache is the size of the store's block cache in bytes.
	Cache int64
	// DiskFloor is the free space in bytes below which nothing more is written.
	DiskFloor int64

	// Bootstrap relays are always connected, and may have private addresses.
	Bootstrap []string
	// Sync switches the filling from other relays.
	Sync bool
	// SyncAllowPrivate allows loopback, private and link-local addresses in announcements.
	SyncAllowPrivate bool
	// SyncBatchWindow is how long changes of what is wanted are gathered at most.
	SyncBatchWindow time.Duration
	// SyncQuickReconnect is how long after a lost connection only what is new is asked.
	SyncQuickReconnect time.Duration
	// SyncResyncInterval is the time between full resyncs of a relay, ± 1/24.
	SyncResyncInterval time.Duration
	// SyncCheckInterval is how often unneeded relays are let go.
	SyncCheckInterval time.Duration
	// SyncStartupDelay waits before the first connection.
	SyncStartupDelay time.Duration
	// SyncBaseBackoff and SyncMaxBackoff bound the wait after failures.
	SyncBaseBackoff, SyncMaxBackoff time.Duration
	// SyncDeadAfter is how long a relay fails until it is dead, SyncDeadRetry how often it is tried then.
	SyncDeadAfter, SyncDeadRetry time.Duration
	// SyncMaxTags is the number of values per filter.
	SyncMaxTags int
	// SyncMaxFilters is the number of live filters per relay before small requests are merged.
	SyncMaxFilters int
	// SyncWholeFrom is how much is wanted of a relay that may be asked as a whole.
	SyncWholeFrom int
	// SyncMaxRelays bounds the relays connected at once.
	SyncMaxRelays int
	// SyncNegentropy uses NIP-77 where the remote relay has it.
	SyncNegentropy bool

	LogLevel  slog.Level
	LogFormat string
	// Quiet shows no progress on a terminal.
	Quiet bool

	// Name, Description, Contact and PubKey stand in the NIP-11 document.
	Name, Description, Contact, PubKey string
}

// door is what a node and an import have in common.
func (c *Config) door(service grasp.Service, lists policy.Lists, log *slog.Logger) node.Config {
	return node.Config{Dir: c.Data, Service: service, MinPoW: c.MinPoW, Lists: lists, Version: versionString(), Store: c.storeOptions(), Logger: log}
}

// node is what the settings make of a node.
func (c *Config) node(service grasp.Service, lists policy.Lists, bootstrap []grasp.RelayURL, log *slog.Logger) node.Config {
	n := c.door(service, lists, log)
	clients, connections := connectionsFor(openFiles(), c.SyncMaxRelays)
	n.Connections, n.Rates, n.Proxies, n.AdminHosts = connections, front.Rates{OpenTotal: clients}, c.TrustedProxies, c.AdminHosts
	n.Info = nip11.Document{Name: c.Name, Description: c.Description, Contact: c.Contact, PubKey: c.PubKey}
	if c.Sync {
		n.Sync = &node.Sync{Bootstrap: bootstrap, AllowPrivate: c.SyncAllowPrivate, Engine: c.engine()}
	}
	return n
}

func (c *Config) engine() relaysync.Config {
	return relaysync.Config{
		Peer: plan.Config{
			BaseBackoff: c.SyncBaseBackoff, MaxBackoff: c.SyncMaxBackoff, DeadAfter: c.SyncDeadAfter, DeadRetry: c.SyncDeadRetry,
			QuickReconnect: c.SyncQuickReconnect, Resync: c.SyncResyncInterval, NoNegentropy: !c.SyncNegentropy,
			MaxTags: c.SyncMaxTags, MaxFilters: c.SyncMaxFilters, WholeFrom: c.SyncWholeFrom,
		},
		BatchWindow: c.SyncBatchWindow, CheckEvery: c.SyncCheckInterval, StartupDelay: c.SyncStartupDelay, MaxRelays: c.SyncMaxRelays,
	}
}

// storeOptions are what the settings say of the store.
func (c *Config) storeOptions() store.Options {
	return store.Options{CacheBytes: c.Cache, Floor: uint64(max(1, c.DiskFloor))} // a floor of 0 bytes would be the default
}
