package main

import (
	"log/slog"
	"net/netip"
	"time"
)

// Config is every setting of graspd. The flag table in flags.go gives each its
// flag, its environment variable and its default, which stands only there.
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
