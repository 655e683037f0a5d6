package relaysync_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

const (
	domain = "relay.example.org"
	ours   = "wss://" + domain
)

// dialer lets the engine reach a network of fake relays.
type dialer struct{ net *testkit.Net }

func (d dialer) Dial(ctx context.Context, u grasp.RelayURL) (relaysync.Conn, error) {
	c, err := d.net.Dial(ctx, u)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (d dialer) Info(_ context.Context, u grasp.RelayURL) (nip11.Document, error) {
	return d.net.ReadInfo(u)
}

// world is one graspd, without its server side, among fake relays, in a bubble.
type world struct {
	t       *testing.T
	net     *testkit.Net
	fs      *vfs.MemFS
	boot    []grasp.RelayURL
	adjust  func(*relaysync.Config)
	prepare func(*relaysync.Engine) // before it runs
	lists   policy.Lists            // those to begin with
	doorway ingest.Config           // what the door is to have beside the usual
	mail    bool                    // mailboxes are asked

	store  *store.Store
	door   *ingest.Door
	engine *relaysync.Engine
	cancel context.CancelFunc // tells the engine to stop
	stop   func()
}

func newWorld(t *testing.T, boot ...grasp.RelayURL) *world {
	return &world{t: t, net: testkit.NewNet(t), fs: vfs.NewMem(), boot: boot}
}

func service(t testing.TB) grasp.Service {
	t.Helper()
	s, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start opens the store and runs door and engine; stop ends them.
func (w *world) start() {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	rules := policy.Rules{Service: service(w.t), Lists: w.lists, Mailboxes: w.mail}
	var err error
	w.store, err = store.Open(store.Options{Dir: "store", FS: w.fs, CacheBytes: 1 << 20, Rules: rules.Fingerprint(), Logger: log})
	if err != nil {
		w.t.Fatal(err)
	}
	d := w.doorway
	d.Store, d.Rules, d.Logger = w.store, rules, log
	w.door = ingest.New(d)
	c := relaysync.Config{
		Store: w.store, Door: w.door, Dialer: dialer{w.net}, Service: service(w.t), Bootstrap: w.boot, Lists: w.lists,
		Self: testkit.Key(999).PubKey(), Logger: log,
		Sign: func(e *nostr.Event) error { return testkit.Key(999).Sign(e, [32]byte{}) },
	}
	c.Peer.Mailboxes = w.mail
	if w.adjust != nil {
		w.adjust(&c)
	}
	if c.Now == nil {
		begun := time.Now()
		c.Now = func() backoff.Now { return backoff.Now{Mono: time.Since(begun), Wall: time.Now().Round(0)} }
	}
	w.engine = relaysync.New(c)
	if w.prepare != nil {
		w.prepare(w.engine)
	}
	doorCtx, closeDoor := context.WithCancel(context.Background())
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	doorEnded, engineEnded := make(chan error, 1), make(chan error, 1)
	go func() { doorEnded <- w.door.Run(doorCtx) }()
	go func() { engineEnded <- w.engine.Run(ctx) }()
	w.stop = func() {
		w.t.Helper()
		cancel()
		if err := <-engineEnded; err != nil {
			w.t.Errorf("engine: %v", err)
		}
		closeDoor()
		if err := <-doorEnded; err != nil {
			w.t.Errorf("door: %v", err)
		}
		if err := w.store.Close(); err != nil {
			w.t.Errorf("store: %v", err)
		}
	}
}

// list changes the lists of all parts, as a reread does.
func (w *world) list(l policy.Lists) {
	w.t.Helper()
	if err := w.door.SetRules(w.t.Context(), policy.Rules{Service: service(w.t), Lists: l}); err != nil {
		w.t.Fatal(err)
	}
	w.engine.SetLists(l, l.Loosens(w.lists))
	w.lists = l
}

// bubble runs f in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// wait lets d pass and everything that is due happen.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// publish brings an event in as a client would.
func (w *world) publish(e *nostr.Event) policy.Verdict {
	w.t.Helper()
	src := w.door.Source(ingest.SourceConfig{Label: "test", Direct: true})
	defer src.Close()
	got := make(chan policy.Verdict, 1)
	if err := src.Submit(w.t.Context(), e, store.Direct, func(v policy.Verdict) { got <- v }); err != nil {
		w.t.Fatal(err)
	}
	return <-got
}

// has says whether an event is stored.
func (w *world) has(e *nostr.Event) bool {
	w.t.Helper()
	v := w.store.View()
	defer v.Close()
	_, ok, err := v.Get(e.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return ok
}

func (w *world) wantStored(events ...*nostr.Event) {
	w.t.Helper()
	for _, e := range events {
		if !w.has(e) {
			w.t.Errorf("event of kind %d (%s) is not stored", e.Kind, e.ID)
		}
	}
}

func (w *world) wantAbsent(events ...*nostr.Event) {
	w.t.Helper()
	for _, e := range events {
		if w.has(e) {
			w.t.Errorf("event of kind %d (%s) is stored", e.Kind, e.ID)
		}
	}
}

// status returns how the engine stands with a relay; false when it has no peer for it.
func (w *world) status(u grasp.RelayURL) (status.Relay, bool) {
	w.t.Helper()
	all := w.engine.Relays(w.t.Context())
	i := slices.IndexFunc(all, func(s status.Relay) bool { return s.URL == u })
	if i < 0 {
		return status.Relay{}, false
	}
	return all[i], true
}

// settle lets time pass until every peer has confirmed all that it wants.
func (w *world) settle() {
	w.t.Helper()
	for range 400 {
		wait(30 * time.Second)
		ready := true
		for _, s := range w.engine.Relays(w.t.Context()) {
			ready = ready && s.Phase == "live"
		}
		if ready {
			return
		}
	}
	for _, s := range w.engine.Relays(w.t.Context()) {
		w.t.Errorf("%s does not settle: %+v", s.URL, s)
	}
}
