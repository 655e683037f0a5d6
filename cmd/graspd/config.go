package main

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/graspd/graspd/internal/front"
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip11"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/relaysync"
	"github.com/graspd/graspd/internal/store"
)

// Config is every setting of graspd. The flag table in flags.go gives each its
// flag, its environment variable and its default, which for a setting of a part is that part's own.
type Config struct {
	// Listen is the address of the relay: WebSocket, NIP-11 and the page for browsers, all on /.
	Listen string
	// AdminListen is the address of the private listener: status.json, healthz, readyz; "" is none.
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
	// Archive is entries of what is carried though it does not list this relay, or @FILE, and
	// ArchiveReadOnly takes no pushes to that.
	Archive         []string
	ArchiveReadOnly bool
	// Private serves nobody but the owners of Members, which are keys, or @FILE for the keys in a file.
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

	// HostsGit hosts repositories, and Git says how.
	HostsGit bool
	Git      node.Git
	// GitSync completes them from other git servers, so many fetches at once.
	GitSync            bool
	GitSyncConcurrency int

	// Bootstrap relays are always connected, and may have private addresses.
	Bootstrap []string
	// Mailboxes asks the relays that participants write to, and IndexRelays are asked which these are.
	Mailboxes   bool
	IndexRelays []string
	// Sync switches the filling from other relays.
	Sync bool
	// SyncAllowPrivate allows loopback, private and link-local addresses in announcements.
	SyncAllowPrivate bool
	// SyncBatchWindow is how long changes of what is wanted are gathered at most.
	SyncBatchWindow time.Duration
	// SyncNegentropy uses NIP-77 where the remote relay has it.
	SyncNegentropy bool
	// Engine is what else is set of how relays are followed.
	Engine relaysync.Config

	// Backups are those that graspd makes by itself; Dir "" makes none.
	Backups node.Backups

	LogLevel  slog.Level
	LogFormat string
	// Quiet shows no progress on a terminal.
	Quiet bool

	// Check looks at the relay from outside once, soon after the start, and only warns.
	Check bool

	// Info is what the operator says in the NIP-11 document.
	Info nip11.Document
	// About is Markdown that the start page begins with, or @FILE, and Color and ColorDark are colours of public pages.
	About, Color, ColorDark string
}

// door is what a node and an import have in common.
func (c *Config) door(service grasp.Service, lists policy.Lists, log *slog.Logger) node.Config {
	n := node.Config{Dir: c.Data, Service: service, MinPoW: c.MinPoW, Lists: lists, Mailboxes: c.Mailboxes, Version: versionString(), Store: c.storeOptions(), Logger: log}
	if len(c.Archive) > 0 {
		n.Archive = &node.Archive{ReadOnly: c.ArchiveReadOnly}
	}
	if c.HostsGit {
		git := c.Git
		if git.Cache == 0 {
			git.Cache = -1 // 0 would be the default
		}
		if c.GitSync && c.Sync {
			git.Sync = &node.GitSync{Concurrency: c.GitSyncConcurrency, AllowPrivate: c.SyncAllowPrivate}
		}
		n.Git = &git
	}
	return n
}

// node is what the settings make of a node.
func (c *Config) node(service grasp.Service, named named, log *slog.Logger) node.Config {
	n := c.door(service, named.lists, log)
	clients, connections := connectionsFor(openFiles(), c.Engine.MaxRelays)
	n.Connections, n.Rates, n.Proxies, n.AdminHosts = connections, front.Rates{OpenTotal: clients}, c.TrustedProxies, c.AdminHosts
	n.Info, n.About, n.Look = c.Info, named.about, named.look
	n.AdminKeys = named.admins
	if c.Private {
		n.Private = &node.Private{Members: named.members}
	}
	if c.Backups.Dir != "" {
		n.Backups = &c.Backups
	}
	if c.Sync {
		n.Sync = &node.Sync{Bootstrap: named.bootstrap, Index: named.index, AllowPrivate: c.SyncAllowPrivate, Engine: c.engine()}
	}
	return n
}

// engine is what the settings say of how relays are followed.
func (c *Config) engine() relaysync.Config {
	e := c.Engine
	e.BatchWindow, e.Peer.NoNegentropy = c.SyncBatchWindow, !c.SyncNegentropy
	return e
}

// storeOptions are what the settings say of the store.
func (c *Config) storeOptions() store.Options {
	o := store.Options{CacheBytes: c.Cache, Floor: uint64(c.DiskFloor)}
	if c.DiskFloor <= 0 { // which would be the defaults
		o.Floor, o.InodeFloor = 1, 1
	}
	return o
}
