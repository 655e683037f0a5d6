package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"graspd/internal/contain"
	"graspd/internal/grasp"
	"graspd/internal/ingest"
	"graspd/internal/logs"
	"graspd/internal/nip11"
	"graspd/internal/nostr"
	"graspd/internal/plan"
	"graspd/internal/policy"
	"graspd/internal/progress"
	"graspd/internal/relay"
	"graspd/internal/relayconn"
	"graspd/internal/relaysync"
	"graspd/internal/store"
)

// node is one relay with all its parts, built in the order in which data flows.
type node struct {
	cfg     Config
	service grasp.Service
	lists   policy.Lists // in force; the rereading goroutine's while it runs
	listen  listeners
	store   *store.Store
	door    *ingest.Door
	relay   *relay.Relay
	engine  *relaysync.Engine // nil without --sync
	log     *slog.Logger
	faults  *contain.Faults
	screen  *progress.Screen // shows the first catch-up; nil = nobody looks

	self    nostr.PubKey  // the relay's own key
	backups chan struct{} // full while a backup is under way

	connections int // of clients that are accepted at once; more wait in the kernel's queue
}

// newLogger writes for people or for machines.
func newLogger(c Config, w io.Writer) *slog.Logger {
	return logs.New(w, logs.Config{Level: c.LogLevel, Format: c.LogFormat, Terminal: isTerminal(w)})
}

// openStore opens the data directory and the door in front of it. What takes long in that ends with ctx.
func openStore(ctx context.Context, c Config, rules policy.Rules, log *slog.Logger, faults *contain.Faults) (*store.Store, *ingest.Door, error) {
	if err := os.MkdirAll(c.Data, 0o750); err != nil {
		return nil, nil, fmt.Errorf("make data directory: %w", err)
	}
	s, err := store.Open(store.Options{
		Dir: filepath.Join(c.Data, "store"), CacheBytes: c.Cache, Rules: rules.Fingerprint(),
		Floor:  uint64(max(1, c.DiskFloor)), // a floor of 0 bytes would be the default
		Logger: log.With("component", "store"),

		Stopped: func() error { return context.Cause(ctx) },
	})
	if err != nil {
		return nil, nil, err
	}
	return s, ingest.New(ingest.Config{Store: s, Rules: rules, Logger: log.With("component", "ingest"), Faults: faults}), nil
}

// build makes a node on listeners, which it owns from then on; it answers only
// when it runs.
func build(ctx context.Context, c Config, l listeners, service grasp.Service, lists policy.Lists, bootstrap []grasp.RelayURL, log *slog.Logger) (_ *node, err error) {
	n := &node{cfg: c, service: service, lists: lists, listen: l, log: log, faults: contain.New(log, nil), backups: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	if n.store, n.door, err = openStore(ctx, c, n.rules(lists), log, n.faults); err != nil {
		return nil, err
	}
	key, err := loadKey(c.Data)
	if err != nil {
		return nil, err
	}
	n.self = key.PubKey()
	clients, connections := connectionsFor(openFiles(), c.SyncMaxRelays)
	n.connections = connections
	n.relay, err = relay.New(relay.Config{
		Limits: relay.Limits{Rates: relay.Rates{OpenTotal: clients}},
		Store:  n.store, Door: n.door, Service: service, MinPoW: c.MinPoW, Proxies: c.TrustedProxies, Logger: log.With("component", "relay"), Faults: n.faults,
		Info: nip11.Document{
			Name: c.Name, Description: c.Description, Contact: c.Contact, PubKey: c.PubKey, Self: key.PubKey().String(),
			Software: "graspd", Version: versionString(), RepoAcceptanceCriteria: acceptance(lists),
		},
	})
	if err != nil {
		return nil, err
	}
	if c.Sync {
		n.engine = newEngine(c, n, key, bootstrap)
	}
	return n, nil
}

func newEngine(c Config, n *node, key nostr.SecretKey, bootstrap []grasp.RelayURL) *relaysync.Engine {
	return relaysync.New(relaysync.Config{
		Store: n.store, Door: n.door, Service: n.service, Lists: n.lists, Bootstrap: bootstrap, Self: key.PubKey(), Sign: signer(key),
		Dialer: dialer{relayconn.New(relayconn.Config{
			AllowPrivate: c.SyncAllowPrivate,
			Service:      n.service.Host(),
			Exempt:       func(u grasp.RelayURL) bool { return slices.Contains(bootstrap, u) },
			UserAgent:    "graspd/" + versionString(),
		})},
		Peer: plan.Config{
			BaseBackoff: c.SyncBaseBackoff, MaxBackoff: c.SyncMaxBackoff, DeadAfter: c.SyncDeadAfter, DeadRetry: c.SyncDeadRetry,
			QuickReconnect: c.SyncQuickReconnect, Resync: c.SyncResyncInterval, NoNegentropy: !c.SyncNegentropy,
			MaxTags: c.SyncMaxTags, MaxFilters: c.SyncMaxFilters, WholeFrom: c.SyncWholeFrom,
		},
		BatchWindow: c.SyncBatchWindow, CheckEvery: c.SyncCheckInterval, StartupDelay: c.SyncStartupDelay, MaxRelays: c.SyncMaxRelays,
		Logger: n.log, Faults: n.faults,
	})
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

// Bounds of the listener.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = time.Minute
	stopTimeout   = time.Second // for HTTP requests under way
)

// run serves until ctx ends, then stops in the reverse of the order of data:
// no new connections, the engine and its peers, the sessions, the door, the
// private listener, the store. At each of hangups it rereads the lists.
func (n *node) run(ctx context.Context, hangups <-chan os.Signal) error {
	pages := n.adminPages()
	server, private := n.relay.Server(), newServer(n.faults.Handler("a request of the operator", pages), n.log)
	doorCtx, closeDoor := context.WithCancel(context.WithoutCancel(ctx))
	relayCtx, closeRelay := context.WithCancel(context.WithoutCancel(ctx))
	defer closeDoor()
	defer closeRelay()
	g, gctx := errgroup.WithContext(ctx)
	engineDone := make(chan struct{})
	relayDone := make(chan struct{})
	g.Go(func() error { return n.door.Run(doorCtx) })
	g.Go(func() error { defer close(relayDone); return n.relay.Run(relayCtx) })
	g.Go(func() error {
		return serveOn(server, n.relay.Listener(netutil.LimitListener(n.listen.public, n.connections)))
	})
	if n.listen.admin != nil {
		g.Go(func() error { return serveOn(private, n.listen.admin) })
		g.Go(func() error { pages.Run(gctx); return nil })
	}
	g.Go(func() error { n.rereadOn(gctx, hangups); return nil })
	g.Go(func() error { tendMemory(gctx, readFooting, debug.FreeOSMemory); return nil })
	if n.screen != nil && n.engine != nil {
		g.Go(func() error { n.showCatchup(gctx, n.screen); return nil })
	}
	g.Go(func() error {
		defer close(engineDone)
		if n.engine == nil {
			return nil
		}
		return n.engine.Run(gctx)
	})
	g.Go(func() error {
		<-gctx.Done()
		err := shutDown(server)
		<-engineDone
		closeRelay()
		<-relayDone
		closeDoor()
		return errors.Join(err, shutDown(private))
	})
	return errors.Join(g.Wait(), n.close())
}

func (n *node) close() error {
	errs := []error{n.listen.close()}
	if err := n.endBackups(); err != nil {
		return errors.Join(append(errs, err)...) // a store that is being copied stays open
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	return errors.Join(errs...)
}
