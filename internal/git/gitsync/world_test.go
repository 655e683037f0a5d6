package gitsync_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/gitrepo/gitfake"
	"github.com/graspd/graspd/internal/git/gitsync"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// anything is a Verifier for which every signature is genuine.
type anything struct{}

func (anything) Verify(nostr.PubKey, nostr.ID, nostr.Sig) bool { return true }

func ok[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// site is a repository on another git server.
type site struct {
	has    map[gitwire.ObjectID]bool
	fails  error         // instead of an answer
	ends   error         // after the packs
	hangs  bool          // until it is told to end
	works  chan struct{} // not nil: until it is closed, the relay works on what the site has sent
	panics bool
	broken bool             // its packs are none
	bad    gitwire.ObjectID // what is not taken: packs with that are refused
	most   int              // groups whose pack is not too much
	byID   int              // groups that it is asked for in one request, as it shows none of its ids; 0: any number
	shows  *gitwire.Refs
	strict bool                 // it gives by id only what it shows
	meet   func()               // once it has been asked
	asked  []time.Duration      // when, since the start
	wanted [][]gitwire.ObjectID // in the last request
	every  []gitwire.ObjectID   // that it was ever asked for
	told   []gitwire.ObjectID   // tips that are here, at the last request
	exempt []grasp.Source       // of the rule for addresses, at the last request
}

func (s *site) showsID(id gitwire.ObjectID) bool {
	return slices.ContainsFunc(s.shows.List, func(r gitwire.Ref) bool { return r.ID == id })
}

// world is a relay with its repositories in memory, in a bubble, and the other servers that there are.
type world struct {
	*testing.T
	connected chan grasp.RelayURL // to sync
	gitfake.History
	disk    *gitfake.Fake
	fs      *vfs.MemFS
	service grasp.Service
	config  gitsync.Config
	faults  *contain.Faults
	began   time.Time
	ungit   bool // it hosts nothing
	prs     bool // contributors push to it

	mu    sync.Mutex
	sites map[string]*site

	store  *store.Store
	door   *ingest.Door
	host   *hosting.Host
	sync   *gitsync.Sync
	client *ingest.Source
	relay  *ingest.Source
	end    func()
}

// inWorld runs a test in a bubble.
func inWorld(t *testing.T, c gitsync.Config, test func(*testing.T, *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, disk: gitfake.New(), fs: vfs.NewCrashableMem(), config: c, began: time.Now(), sites: map[string]*site{}}
		w.service = ok(grasp.ParseService("relay.example.org"))
		w.faults = contain.New(slog.New(slog.DiscardHandler), nil)
		w.start()
		defer func() { w.end() }()
		test(t, w)
	})
}

func (w *world) start() {
	ctx, cancel := context.WithCancel(context.Background())
	rules := policy.Rules{Service: w.service, Git: !w.ungit, Contributors: w.prs}
	w.store = ok(store.Open(store.Options{Dir: "data", FS: w.fs, Rules: rules.Fingerprint()}))
	host := hosting.Config{Disk: w.disk, Store: w.store, Service: w.service, Contributors: w.prs}
	host.Ledger = hosting.NewLedger(host)
	door := ingest.Config{Store: w.store, Rules: rules, Verifier: anything{}, Ledger: host.Ledger}
	if w.ungit {
		door.Ledger = nil
	}
	w.door = ingest.New(door)
	host.Door = w.door
	w.host = hosting.New(host)
	c := w.config
	w.connected = make(chan grasp.RelayURL, 2)
	c.Connected = w.connected
	c.Host, c.Store, c.Fetcher, c.Faults = w.host, w.store, w, w.faults
	c.Now = func() backoff.Now { return backoff.Now{Mono: time.Since(w.began), Wall: time.Now()} }
	w.sync = gitsync.New(c)
	w.client = w.door.Source(ingest.SourceConfig{Label: "client", Direct: true})
	w.relay = w.door.Source(ingest.SourceConfig{Label: "wss://other.example.org"})
	var doors, g sync.WaitGroup
	inner, stop := context.WithCancel(ctx)
	doors.Go(func() { _ = w.door.Run(ctx) })
	if !w.ungit {
		g.Go(func() { _ = w.host.Run(inner) })
		g.Go(func() { _ = w.sync.Run(inner) })
	}
	w.end = func() {
		stop()
		g.Wait()
		cancel()
		doors.Wait()
		if err := w.store.Close(); err != nil {
			w.Error(err)
		}
	}
}

// pushFails has a client push what nobody has signed for.
func (w *world) pushFails(repo *nostr.Event) {
	w.Helper()
	r := w.host.Push(w.Context(), githttp.PushCall{Of: addressOf(repo), Progress: func(string) {}, Push: &gitwire.Push{
		Commands: []gitwire.Command{{Ref: "refs/heads/unsigned", New: w.Commit("unsigned")}},
	}})
	if len(r.Outcomes) != 1 || r.Outcomes[0].Refused == "" {
		w.Fatalf("%+v", r)
	}
}

// at is the URL of a repository on another server, which has these and what they lead to.
func (w *world) at(server string, tips ...gitwire.ObjectID) string {
	url := "https://" + server + ".example.org/r.git"
	s := &site{has: map[gitwire.ObjectID]bool{}, shows: &gitwire.Refs{}}
	for _, id := range w.All(tips, nil) {
		s.has[id] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sites[url] = s
	return url
}

// change changes what a server does.
func (w *world) change(server string, do func(*site)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do(w.sites["https://"+server+".example.org/r.git"])
}

// asked is how often a server was asked.
func (w *world) asked(server string) (n int) {
	w.change(server, func(s *site) { n = len(s.asked) })
	return n
}

func (w *world) visit(r gitfetch.Request) (s site, is bool) {
	w.mu.Lock()
	x := w.sites[r.URL]
	if x == nil {
		w.mu.Unlock()
		return s, false
	}
	x.asked, x.exempt = append(x.asked, time.Since(w.began)), r.Exempt
	s = *x
	w.mu.Unlock()
	if s.meet != nil {
		s.meet()
	}
	return s, true
}

// Fetch implements gitsync.Fetcher.
func (w *world) Fetch(ctx context.Context, r gitfetch.Request) (res gitfetch.Result, err error) {
	s, is := w.visit(r)
	switch {
	case !is:
		return res, errors.New("no such host")
	case s.panics:
		panic("a fault")
	case s.hangs:
		<-ctx.Done()
		return res, fmt.Errorf("fetch: %w", context.Cause(ctx))
	case s.fails != nil:
		return res, s.fails
	}
	var ids []gitwire.ObjectID
	for i, g := range r.Groups {
		if s.byID > 0 && i >= s.byID {
			break
		}
		if s.strict && slices.ContainsFunc(g, func(id gitwire.ObjectID) bool { return !s.showsID(id) }) {
			res.Lacks, res.Withheld, res.Said = append(res.Lacks, g...), append(res.Withheld, g...), "not our ref"
			continue
		}
		if !slices.ContainsFunc(g, func(id gitwire.ObjectID) bool { return !s.has[id] }) {
			ids = append(ids, g...)
		}
	}
	res.Refs = s.shows
	w.mu.Lock()
	w.sites[r.URL].wanted, w.sites[r.URL].told = r.Groups, r.Haves
	w.sites[r.URL].every = slices.Concat(append(r.Groups, w.sites[r.URL].every)...)
	w.mu.Unlock()
	if len(ids) == 0 {
		return res, s.ends
	}
	switch {
	case slices.Contains(ids, s.bad):
		return res, &gitrepo.PackError{Check: "zeroPaddedFilemode", Text: "object x is not taken"}
	case s.most > 0 && len(r.Groups) > s.most:
		return gitfetch.Result{Refs: s.shows, Requests: 3}, fmt.Errorf("fetch: %w", gitfetch.ErrTooMuch)
	}
	pack := w.Pack(w.All(ids, r.Haves))
	if s.broken {
		pack = pack[:len(pack)-5]
	}
	r.Alive()
	r.Heard()
	if s.works != nil {
		<-s.works
	}
	res.Bytes = int64(len(pack))
	if err := r.Pack(ctx, ids, bytes.NewReader(pack)); err != nil {
		return res, err
	}
	return res, s.ends
}

// Advertised implements gitsync.Fetcher.
func (w *world) Advertised(_ context.Context, r gitfetch.Request) (gitfetch.Result, error) {
	s, is := w.visit(r)
	if !is {
		return gitfetch.Result{}, errors.New("no such host")
	}
	return gitfetch.Result{Refs: s.shows}, s.fails
}

func author(n byte) nostr.PubKey { return nostr.PubKey{1, n} }

func (w *world) event(by byte, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{PubKey: author(by), CreatedAt: time.Now().Unix(), Kind: kind, Tags: tags}
	e.ID = e.ComputeID()
	return e
}

// comes gives an event to the relay, from a client or another relay.
func (w *world) comes(e *nostr.Event, from store.Source) *nostr.Event {
	w.Helper()
	c := make(chan policy.Verdict, 1)
	src := w.client
	if from != store.Direct {
		src = w.relay
	}
	if err := src.Submit(w.Context(), e, from, func(v policy.Verdict) { c <- v }); err != nil {
		w.Fatal(err)
	}
	if v := <-c; !v.OK() {
		w.Fatalf("kind %d is answered %+v", e.Kind, v)
	}
	return e
}

// announce is an announcement of a repository that others have as well.
func (w *world) announce(by byte, d string, clone ...string) *nostr.Event {
	w.Helper()
	return w.comes(w.event(by, nip34.KindRepository, nostr.Tag{"d", d}, append(nostr.Tag{"clone", w.service.CloneURL(author(by), d)}, clone...),
		nostr.Tag{"relays", w.service.RelayURL().String()}), store.Direct)
}

// state is one with main at a commit.
func (w *world) state(by byte, d string, from store.Source, main gitwire.ObjectID) *nostr.Event {
	w.Helper()
	return w.comes(w.event(by, nip34.KindState, nostr.Tag{"d", d}, nostr.Tag{"HEAD", "ref: refs/heads/main"}, nostr.Tag{"refs/heads/main", main.String()}), from)
}

func addressOf(e *nostr.Event) nip34.Address {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: e.Tags.D()}
}

// pass lets time pass, until nothing happens any more at its end.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) served(e *nostr.Event) bool {
	v := w.store.View()
	defer v.Close()
	_, is, err := v.Get(e.ID)
	return is && err == nil
}

func (w *world) wantServed(want bool, events ...*nostr.Event) {
	w.Helper()
	for _, e := range events {
		if w.served(e) != want {
			w.Fatalf("kind %d is served: %v", e.Kind, !want)
		}
	}
}

// wantWaits requires that events wait, or do not and are not served either.
func (w *world) wantWaits(want bool, events ...*nostr.Event) {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	for _, e := range events {
		if k, err := v.Known(e.ID); err != nil || (k.State == store.InWaiting) != want || w.served(e) {
			w.Fatalf("kind %d: %+v, %v; is it to wait: %v", e.Kind, k, err, want)
		}
	}
}

// standing is what is told of a repository: its needs and a line for each server.
func (w *world) standing(repo *nostr.Event) gitsync.Standing {
	return w.sync.Standing(w.Context(), addressOf(repo))
}
