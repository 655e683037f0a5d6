package sim

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo/gitfake"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// Options say what one graspd is like. Start reads them.
type Options struct {
	Bootstrap    []grasp.RelayURL
	Verifier     nostr.Verifier // nil takes marks
	Limits       relay.Limits
	MinPoW       int           // bits that events must show (NIP-13)
	Ping         time.Duration // between two pings, to clients and to relays; 0 is 30 s
	Door         ingest.Limits
	Private      bool                    // it has a private listener, on the host "private." and its name
	Engine       func(*relaysync.Config) // changes what the engine gets
	Git          bool                    // it hosts repositories
	Archive      []string                // entries of what it archives, as operators write them
	Mailboxes    bool                    // it asks participants' mailboxes
	Index        []grasp.RelayURL        // relays that it asks which these are
	Contributors bool                    // it takes pushes of pull requests (GRASP-06)
	Members      policy.PubKeys          // it serves only these (GRASP-08), and signs for real, as other relays check that; nil is everybody
}

// Graspd is one whole relay: store, door, server and engine, built in the order of the binary, with a disk of its own that outlives its stops.
type Graspd struct {
	Options
	Name    string
	URL     grasp.RelayURL
	Service grasp.Service

	w     *World
	fs    *vfs.MemFS
	skew  atomic.Int64 // of its wall clock, in nanoseconds
	host  *Host
	past  *history
	full  atomic.Bool // its disk is full
	lives int         // how often it was started
	run   *running    // nil while it is stopped
	up    *node.Node  // the node that neighbours reach; nil while it is stopped; guarded by w.mu
	disk  *gitfake.Fake
	dir   string // for kept packs
}

// running is one life of the process.
type running struct {
	*node.Node
	stop func() error
	ends *ends
}

// Graspd adds a relay, which Start starts.
func (w *World) Graspd(name string, o Options) *Graspd {
	w.t.Helper()
	service, err := grasp.ParseService(name)
	if err != nil {
		w.t.Fatal(err)
	}
	g := &Graspd{Options: o, Name: name, URL: URL(name), Service: service, w: w, fs: vfs.NewCrashableMem(), host: w.Net.Host(name), past: newHistory()}
	if o.Git {
		g.dir = w.t.TempDir()
		if err := durable(g.fs, g.dir); err != nil {
			w.t.Fatal(err)
		}
	}
	w.all = append(w.all, g)
	return g
}

// durable makes a directory that survives a power cut.
func durable(fs vfs.FS, dir string) error {
	if dir == fs.PathDir(dir) {
		return nil
	}
	if err := durable(fs, fs.PathDir(dir)); err != nil {
		return err
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	parent, err := fs.OpenDir(fs.PathDir(dir))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

// secret returns the secret key of a relay that has to prove who it is.
func (g *Graspd) secret() nostr.SecretKey { return nostr.SecretKey(sha256.Sum256([]byte(g.Name))) }

// Key returns the relay's own key.
func (g *Graspd) Key() nostr.PubKey {
	if g.Members != nil {
		return g.secret().PubKey()
	}
	return nostr.PubKey(sha256.Sum256([]byte(g.Name)))
}

// SetMembers changes the members of a private relay that runs.
func (g *Graspd) SetMembers(keys policy.PubKeys) {
	g.Members = keys
	g.run.Set(context.Background(), node.Settings{Info: nip11.Document{Name: g.Name}, MinPoW: g.MinPoW, Members: keys})
}

// Skew sets how far the relay's wall clock is ahead of the true time.
func (g *Graspd) Skew(d time.Duration) { g.skew.Store(int64(d)) }

// now returns the time of the relay's wall clock.
func (g *Graspd) now() time.Time { return g.w.Now().Add(time.Duration(g.skew.Load())) }

// FillDisk leaves no space on the relay's disk, or lots again.
func (g *Graspd) FillDisk(full bool) { g.full.Store(full) }

func (g *Graspd) space() (uint64, error) {
	if g.full.Load() {
		return 0, nil
	}
	return 1 << 40, nil
}

// Host returns the relay's place in the network.
func (g *Graspd) Host() *Host { return g.host }

// Running reports whether the relay was started and not stopped.
func (g *Graspd) Running() bool { return g.run != nil }

// Store returns the store of the running relay.
func (g *Graspd) Store() *store.Store { return g.run.Store }

// Engine returns the sync engine of the running relay.
func (g *Graspd) Engine() *relaysync.Engine { return g.run.Engine }

// Start starts the relay, with what is on its disk.
func (g *Graspd) Start() {
	g.w.t.Helper()
	if err := g.launch(); err != nil {
		g.w.t.Fatalf("start %s: %v", g.Name, err)
	}
}

func (g *Graspd) launch() error {
	g.lives++
	verifier := g.Verifier
	if verifier == nil {
		verifier = testkit.Marks{}
	}
	c := node.Config{
		Service: g.Service, MinPoW: g.MinPoW, Mailboxes: g.Mailboxes, Verifier: verifier, Door: g.Door, Limits: g.Limits, Ping: g.Ping, Now: g.now, Identity: g.identity,
		Workers: 1, // several would take events of the same moment in any order
		Store:   store.Options{FS: g.fs, CacheBytes: 1 << 20, TableBytes: 256 << 10, FreeSpace: g.space},
		Info:    nip11.Document{Name: g.Name},
		Sync:    &node.Sync{Bootstrap: g.Bootstrap, Index: g.Index, Dialer: newDialer(g), Engine: relaysync.Config{PingEvery: g.Ping}},
	}
	ends := newEnds(g.w.log.Handler())
	c.Logger = slog.New(ends).With(slog.String("graspd", g.Name))
	if g.Options.Engine != nil {
		g.Options.Engine(&c.Sync.Engine)
	}
	if g.Git {
		c.Dir, c.Git = g.dir, g.hosting()
	}
	if g.Members != nil {
		c.Private = &node.Private{Members: g.Members}
	}
	for _, entry := range g.Archive {
		c.Archive = &node.Archive{ReadOnly: true}
		if err := c.Lists.Archive.Add(entry); err != nil {
			return err
		}
	}
	n, err := node.New(c)
	if err != nil {
		return err
	}
	g.run = &running{n, g.serve(n), ends}
	g.show(n)
	return nil
}

// show lets neighbours reach a node; with nil they reach the relay no more.
func (g *Graspd) show(n *node.Node) {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	g.up = n
}

// identity returns the relay's identity. It signs with marks, unless the relay has to prove who it is.
func (g *Graspd) identity() (node.Identity, error) {
	if g.Members != nil {
		return node.Identity{PubKey: g.Key(), Sign: func(e *nostr.Event) error { return g.secret().Sign(e, [32]byte{}) }}, nil
	}
	return node.Identity{PubKey: g.Key(), Sign: func(e *nostr.Event) error {
		*e = *testkit.Mark(g.Key(), e.CreatedAt, e.Kind, e.Content, e.Tags...)
		return nil
	}}, nil
}

// serve runs a node, and follows the feed of its store. stop ends both.
func (g *Graspd) serve(n *node.Node) (stop func() error) {
	ctx, end := context.WithCancel(context.Background())
	feedCtx, endFeed := context.WithCancel(context.Background())
	l := node.Listeners{Public: g.host.Listen()}
	if g.Private {
		l.Admin = g.w.Net.Host("private." + g.Name).Listen()
	}
	var whole, feed part
	feed.run(func() error { g.follow(feedCtx, n.Store); return nil })
	whole.run(func() error { return n.Run(ctx, l) })
	return func() error {
		end()
		err := whole.wait()
		endFeed()
		return errors.Join(err, feed.wait(), n.Close())
	}
}

// part is one goroutine with a result.
type part struct {
	done sync.WaitGroup
	err  error
}

func (p *part) run(f func() error) { p.done.Go(func() { p.err = f() }) }
func (p *part) wait() error        { p.done.Wait(); return p.err }

// Stop ends the relay as a signal does, and fails the test where that takes too long. It does nothing where the relay does not run.
func (g *Graspd) Stop() {
	g.w.t.Helper()
	if g.run == nil {
		return
	}
	begun := time.Now()
	g.show(nil)
	if err := g.run.stop(); err != nil {
		g.w.t.Errorf("stop %s: %v", g.Name, err)
	}
	g.run.ends.check(g.w.t, g.Git, g.Private)
	if d := time.Since(begun); d > 10*time.Second {
		g.w.t.Errorf("%s took %v to stop", g.Name, d)
	}
	g.run = nil
}

// Crash ends the relay as a power cut does: a random part of what was not synced is lost.
func (g *Graspd) Crash() {
	g.w.t.Helper()
	// Each life has a source of its own: how much CrashClone draws depends on what the store does on the side.
	r := rand.New(rand.NewPCG(g.w.seed, uint64(g.lives)))
	g.past.cut(true)
	disk := g.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: r})
	g.host.Cut()
	g.show(nil)
	if err := g.run.stop(); err != nil {
		g.w.t.Errorf("crash %s: %v", g.Name, err)
	}
	g.run, g.fs = nil, disk
	g.past.cut(false)
}

// Publish brings an event in as a client would, and waits for the verdict.
func (g *Graspd) Publish(e *nostr.Event) policy.Verdict {
	g.w.t.Helper()
	src := g.run.Door.Source(ingest.SourceConfig{Label: "client", Direct: true})
	defer src.Close()
	got := make(chan policy.Verdict, 1)
	if err := src.Submit(context.Background(), e, store.Direct, func(v policy.Verdict) { got <- v }); err != nil {
		g.w.t.Fatal(err)
	}
	return <-got
}

// dial connects from this relay to a host of the network.
func (g *Graspd) dial(ctx context.Context, _, address string) (net.Conn, error) {
	return g.w.Net.Dial(ctx, g.Name, hostOf(address))
}

// Has reports whether the relay serves an event.
func (g *Graspd) Has(e *nostr.Event) bool {
	g.w.t.Helper()
	v := g.run.Store.View()
	defer v.Close()
	_, ok, err := v.Get(e.ID)
	if err != nil {
		g.w.t.Fatal(err)
	}
	return ok
}

// WantStored fails the test for each event that the relay does not serve.
func (g *Graspd) WantStored(events ...*nostr.Event) {
	g.w.t.Helper()
	for _, e := range events {
		if !g.Has(e) {
			g.w.t.Errorf("%s: event of kind %d (%s) is not stored", g.Name, e.Kind, e.ID)
		}
	}
}

// WantAbsent fails the test for each event that the relay serves.
func (g *Graspd) WantAbsent(events ...*nostr.Event) {
	g.w.t.Helper()
	for _, e := range events {
		if g.Has(e) {
			g.w.t.Errorf("%s: event of kind %d (%s) is stored", g.Name, e.Kind, e.ID)
		}
	}
}
