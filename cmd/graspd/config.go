package main

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/graspd/graspd/internal/base/objects/s3"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/sync/relaysync"
)

// Config has every setting of graspd. The flag table in flags.go gives each setting its flag, its environment variable and its default. A
// setting of a part, such as the engine, has the default of that part.
type Config struct {
	// Listen is the address of the relay: WebSocket, NIP-11 and the page for browsers, all on /.
	Listen string
	// AdminListen is the address of the private listener (status.json, healthz, readyz); "" is none.
	AdminListen string
	AdminHosts  []string
	// AdminPubKeys are the keys of those who may manage the relay over its public address (NIP-86), or @FILE.
	AdminPubKeys []string
	// Domain is the host[:port] under which announcements list this relay.
	Domain string
	// MinPoW is the proof of work that an event must show, in bits.
	MinPoW int
	// AllowPubKeys, DenyPubKeys, AllowRepositories and DenyRepositories are entries of lists, or
	// @FILE for the entries of a file.
	AllowPubKeys, DenyPubKeys, AllowRepositories, DenyRepositories []string
	// Archive has entries, or @FILE, for repositories that the relay carries though they do not list it. ArchiveReadOnly refuses pushes to
	// these.
	Archive         []string
	ArchiveReadOnly bool
	// Private has the relay serve only the owners of the keys in Members; @FILE stands for the keys in a file.
	Private bool
	Members []string
	// TrustedProxies are the reverse proxies whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Data is the directory of the store and of the relay's own key.
	Data string
	// Cache is the size of the store's block cache in bytes.
	Cache int64
	// DiskFloor is the free space in bytes below which nothing more is written.
	DiskFloor int64

	// HostsGit has the relay host repositories, as Git says.
	HostsGit bool
	Git      node.Git
	// GitSync fetches what repositories miss from other git servers.
	GitSync            bool
	GitSyncConcurrency int

	// Bootstrap relays are always connected, and may have private addresses.
	Bootstrap []string
	// Mailboxes has the relay ask also the relays that participants write to. It asks IndexRelays which these are.
	Mailboxes   bool
	IndexRelays []string
	// Sync has the relay fill itself from other relays.
	Sync bool
	// SyncAllowPrivate allows loopback, private and link-local addresses in announcements.
	SyncAllowPrivate bool
	// SyncBatchWindow is how long the engine at most gathers changes of what is wanted before it asks for them.
	SyncBatchWindow time.Duration
	// SyncNegentropy has the relay use NIP-77 with remote relays that have it.
	SyncNegentropy bool
	// Engine has the other settings of how the relay follows others.
	Engine relaysync.Config

	// Bucket is where the commit log and snapshots of the store lie; nil for a store on this disk alone.
	Bucket *s3.Location
	// BucketCommit is how late a commit may come into the bucket; 0 is never.
	BucketCommit time.Duration
	// ClusterListen is the private address by which the other nodes reach this one that share the bucket; "" where this one is alone.
	ClusterListen string
	// Backups says where graspd puts the backups that it makes by itself; with Dir "" it makes none.
	Backups node.Backups

	LogLevel  slog.Level
	LogFormat string
	// Quiet shows no progress on a terminal.
	Quiet bool

	// Check has serve look at the relay from outside once, soon after the start. It only warns.
	Check bool

	// Info is what the operator says in the NIP-11 document.
	Info nip11.Document
	// About is Markdown for the beginning of the start page, or @FILE. Color and ColorDark are colours of public pages.
	About, Color, ColorDark string
}

// door returns the settings that a node and an import have in common.
func (c *Config) door(service grasp.Service, lists policy.Lists, log *slog.Logger) node.Config {
	n := node.Config{Dir: c.Data, Service: service, MinPoW: c.MinPoW, Lists: lists, Mailboxes: c.Mailboxes, Version: versionString(), Store: c.storeOptions(), Logger: log}
	if len(c.Archive) > 0 {
		n.Archive = &node.Archive{ReadOnly: c.ArchiveReadOnly}
	}
	if c.HostsGit {
		git := c.Git
		if git.Cache == 0 {
			git.Cache = -1 // none: 0 would mean the default
		}
		if c.GitSync && c.Sync {
			git.Sync = &node.GitSync{Concurrency: c.GitSyncConcurrency, AllowPrivate: c.SyncAllowPrivate}
		}
		n.Git = &git
	}
	return n
}

// node returns the settings of the node.
func (c *Config) node(service grasp.Service, r resolved, log *slog.Logger) node.Config {
	n := c.door(service, r.lists, log)
	files := divideDescriptors(openFiles(), c.Engine.MaxRelays)
	n.Connections, n.Rates, n.Proxies, n.AdminHosts = files.all, front.Rates{OpenTotal: files.clients, AnyTotal: max(files.all-1-files.all/64, 1)}, c.TrustedProxies, c.AdminHosts
	n.Info, n.About, n.Look = c.Info, r.about, r.look
	n.AdminKeys = r.admins
	if c.Private {
		n.Private = &node.Private{Members: r.members}
	}
	if c.Backups.Dir != "" {
		n.Backups = &c.Backups
	}
	if c.Sync {
		n.Sync = &node.Sync{Bootstrap: r.bootstrap, Index: r.index, AllowPrivate: c.SyncAllowPrivate, Engine: c.engine(files.relays)}
	}
	return n
}

// engine returns the settings of how the relay follows others.
func (c *Config) engine(relays int) relaysync.Config {
	e := c.Engine
	e.MaxRelays = relays
	e.BatchWindow, e.Peer.NoNegentropy = c.SyncBatchWindow, !c.SyncNegentropy
	return e
}

// storeOptions returns the settings of the store.
func (c *Config) storeOptions() store.Options {
	o := store.Options{CacheBytes: c.Cache, OpenTables: divideDescriptors(openFiles(), c.Engine.MaxRelays).tables, Floor: uint64(c.DiskFloor)}
	if c.DiskFloor <= 0 { // no floor: 0 would mean the default
		o.Floor, o.InodeFloor = 1, 1
	}
	return o
}
