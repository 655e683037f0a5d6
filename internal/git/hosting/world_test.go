package hosting_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/test/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.RunWaiting(m)) }

// anything is a Verifier for which every signature is genuine.
type anything struct{}

func (anything) Verify(nostr.PubKey, nostr.ID, nostr.Sig) bool { return true }

// world is a host that is served on loopback.
type world struct {
	*testing.T
	service grasp.Service
	store   *store.Store
	disk    *gitrepo.Disk
	door    *ingest.Door
	host    *hosting.Host
	ledger  *refdb.Ledger
	client  *ingest.Source
	url     string
	dir     string // of the disk
	damaged atomic.Bool
	copies  copies
	fs      *vfs.MemFS   // of the store
	ahead   atomic.Int64 // what the clock is ahead of the system's

	processes *gitproc.Git
	front     *front.Front
	server    *githttp.Server
	faults    *contain.Faults

	start func()
	port  *net.TCPListener
	end   func()
	has   extra // from the next start on
	terms uint64
	kept  *hosting.Kept // nil where the disk alone has packs
	wrong []error       // what Ready said at the last start
}

// clock is the wall clock.
func (w *world) clock() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// pass lets time pass.
func (w *world) pass(d time.Duration) { w.ahead.Add(int64(d)) }

// unreadable is a disk whose packs cannot be read while it is damaged. It notes how data was copied.
type unreadable struct {
	*gitrepo.Disk
	damaged *atomic.Bool
	copies  *copies
}

// copies are for whom data was copied between repositories, in order.
type copies struct {
	mu sync.Mutex
	by []string

	begins func() // called where a copy begins, once; nil is nothing

	hold chan struct{} // Subset waits until it is closed; nil is that it does not

	whole atomic.Pointer[func(tell func())] // called when a pack is here, before git works on it; tell tells the host
}

// Begin begins a quarantine that tells when its pack is here.
func (u unreadable) Begin(repo gitrepo.ID) (gitrepo.Quarantine, error) {
	q, err := u.Disk.Begin(repo)
	if whole := u.copies.whole.Load(); err == nil && whole != nil {
		return telling{q, *whole}, nil
	}
	return q, err
}

// Admit admits what is in a quarantine of Begin.
func (u unreadable) Admit(q gitrepo.Quarantine, repo gitrepo.ID) error {
	if t, is := q.(telling); is {
		q = t.Quarantine
	}
	return u.Disk.Admit(q, repo)
}

// telling is a quarantine that tells when its pack is here.
type telling struct {
	gitrepo.Quarantine
	whole func(tell func())
}

func (q telling) Receive(ctx context.Context, pack io.Reader, r gitrepo.Receiving) (gitrepo.Received, error) {
	told := r.Whole
	r.Whole = func() { q.whole(told) }
	return q.Quarantine.Receive(ctx, pack, r)
}

func (u unreadable) CopyInto(ctx context.Context, from, to gitrepo.ID, p gitrepo.Proving) (gitrepo.Quarantine, gitrepo.Proof, error) {
	u.copies.mu.Lock()
	u.copies.by = append(u.copies.by, fmt.Sprint(p.Party, " ", p.Linked))
	begins := u.copies.begins
	u.copies.begins = nil
	u.copies.mu.Unlock()
	if begins != nil {
		begins()
	}
	return u.Disk.CopyInto(ctx, from, to, p)
}

// Subset waits while the disk is held up.
func (u unreadable) Subset(ctx context.Context, of gitrepo.Quarantine, p gitrepo.Proving) (gitrepo.Quarantine, gitrepo.Proof, error) {
	u.copies.mu.Lock()
	hold := u.copies.hold
	u.copies.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return u.Disk.Subset(ctx, of, p)
}

func (c *copies) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.by...)
}

func (u unreadable) Missing(repo gitrepo.ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	if u.damaged.Load() {
		return nil, errors.New("the index of a pack is damaged")
	}
	return u.Disk.Missing(repo, ids)
}

func newWorld(t *testing.T, limits hosting.Limits) *world {
	t.Helper()
	return archiving(t, limits, false, policy.Archive{})
}

// archiving is a world that archives, and takes pushes to that or not.
func archiving(t *testing.T, limits hosting.Limits, closed bool, archive policy.Archive) *world {
	t.Helper()
	return openWorld(t, limits, closed, archive, false)
}

// forContributors is a world that takes what contributors push.
func forContributors(t *testing.T) *world {
	t.Helper()
	return openWorld(t, hosting.Limits{}, false, policy.Archive{}, true)
}

// extra is what few worlds have.
type extra struct {
	processes gitproc.Limits
	proxies   []netip.Prefix // who is believed where requests come from
	room      func() error   // whether the disk has room
	space     func() *store.Disk
	trusts    func(nostr.PubKey) bool
	objects   objects.Store // where packs are kept; nil is nowhere but on the disk
	local     int64         // bytes of them on the disk at most
	heard     func(string)  // hears each line of the log; nil is nobody
}

func openWorld(t *testing.T, limits hosting.Limits, closed bool, archive policy.Archive, contributors bool, more ...extra) *world {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, url: "http://" + l.Addr().String(), dir: t.TempDir(), fs: vfs.NewCrashableMem()}
	w.service = ok(grasp.ParseService(l.Addr().String()))
	w.faults = contain.New(nil, nil)
	for _, w.has = range more {
	}
	w.port = l.(*net.TCPListener)
	w.start = func() {
		if err := w.port.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		w.open(lent{w.port}, limits, closed, archive, contributors, w.has)
	}
	w.start()
	t.Cleanup(func() {
		w.end()
		_ = w.port.Close()
	})
	return w
}

// lent is a listener whose port stays taken when a server closes it, for the next one.
type lent struct{ *net.TCPListener }

func (l lent) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// open starts the host with what the store and the directory have.
func (w *world) open(l net.Listener, limits hosting.Limits, closed bool, archive policy.Archive, contributors bool, x extra) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	rules := policy.Rules{Service: w.service, Git: true, Contributors: contributors, Lists: policy.Lists{Archive: archive}}
	w.store = ok(store.Open(store.Options{Dir: "data", FS: w.fs, Rules: rules.Fingerprint()}))
	git := ok(gitproc.Open(ctx, gitproc.Config{Limits: x.processes}))
	log := slog.New(slog.NewTextHandler(testLog{w.T, x.heard}, nil))
	c := hosting.Config{Store: w.store, Service: w.service, Limits: limits, Closed: closed, Contributors: contributors, Room: x.room, Space: x.space, Trusts: x.trusts, Rest: 20 * time.Millisecond, Now: w.clock, Logger: log, Faults: w.faults}
	var kept *depot.Depot
	on := gitrepo.Config{Dir: w.dir, Git: git, Now: time.Now, Logger: log, Local: x.local}
	if x.objects != nil {
		w.terms++
		kept = depot.New(depot.Config{Objects: x.objects, Rows: w.store, Term: w.terms, Now: w.clock, Pause: time.Millisecond})
		on.Depot, on.Now = kept, w.clock
	}
	w.disk = ok(gitrepo.Open(on))
	if c.Disk = (unreadable{w.disk, &w.damaged, &w.copies}); kept != nil {
		c.Kept = hosting.NewKept(kept, w.disk)
		wrong, err := c.Kept.Ready(ctx, w.store, nil)
		for range 20 { // it goes on where it was
			if err != nil {
				wrong, err = c.Kept.Ready(ctx, w.store, nil)
			}
		}
		if err != nil {
			w.Fatal(err)
		}
		w.kept, w.wrong = c.Kept, wrong
	}
	c.Ledger = hosting.NewLedger(c)
	w.ledger = c.Ledger
	w.door = ingest.New(ingest.Config{Store: w.store, Rules: rules, Verifier: anything{}, Ledger: c.Ledger, Now: w.clock, Logger: log})
	c.Door = w.door
	w.host = hosting.New(c)
	w.client = w.door.Source(ingest.SourceConfig{Label: "client", Direct: true})
	f := front.New(front.Config{Proxies: x.proxies, Logger: log, Faults: w.faults})
	w.processes, w.front = git, f
	w.server = githttp.New(githttp.Config{Front: f, Host: w.host, Packs: w.host.Packs(), Taker: w.host, Contributors: contributors, CacheDir: w.TempDir(), CacheBytes: 1 << 20, Logger: log, Faults: w.faults})
	f.Handle(w.server.Route())
	server := f.Server()
	var running sync.WaitGroup
	running.Go(func() { _ = w.door.Run(ctx) })
	running.Go(func() { _ = w.host.Run(ctx) })
	running.Go(func() { _ = server.Serve(f.Listener(l)) })
	w.end = func() {
		_ = server.Close()
		if err := f.Drain(w.Context()); err != nil && w.Context().Err() == nil {
			w.Error(err)
		}
		cancel()
		running.Wait()
		if left := w.host.Unreturned(); len(left) > 0 {
			w.Errorf("not given back: %q", left)
		}
		if err := w.disk.Close(); err != nil {
			w.Error(err)
		}
		if err := w.store.Close(); err != nil {
			w.Error(err)
		}
	}
}

type testLog struct {
	testing.TB
	heard func(string)
}

func (l testLog) Write(b []byte) (int, error) {
	l.Log(strings.TrimSpace(string(b)))
	if l.heard != nil {
		l.heard(string(b))
	}
	return len(b), nil
}

func ok[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func key(n byte) nostr.PubKey { return nostr.PubKey{1, n} }

func (w *world) publish(e *nostr.Event) policy.Verdict {
	w.Helper()
	c := make(chan policy.Verdict, 1)
	if err := w.client.Submit(context.Background(), e, store.Direct, func(v policy.Verdict) { c <- v }); err != nil {
		w.Fatal(err)
	}
	return <-c
}

func (w *world) event(author byte, at int64, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{PubKey: key(author), CreatedAt: at, Kind: kind, Tags: tags}
	e.ID = e.ComputeID()
	return e
}

// announce announces a repository that is to be here.
func (w *world) announce(author byte, d string, at int64, more ...nostr.Tag) *nostr.Event {
	e := w.event(author, at, nip34.KindRepository, append(nostr.Tags{{"d", d}, {"name", d},
		{"clone", w.service.CloneURL(key(author), d)}, {"relays", w.service.RelayURL().String()}}, more...)...)
	if v := w.publish(e); !v.OK() {
		w.Fatalf("announcement: %+v", v)
	}
	return e
}

// state publishes what the refs are to be: names and ids in turns.
func (w *world) state(author byte, d string, at int64, refs ...string) *nostr.Event {
	tags := nostr.Tags{{"d", d}, {"HEAD", "ref: refs/heads/main"}}
	for i := 0; i < len(refs); i += 2 {
		tags = append(tags, nostr.Tag{refs[i], refs[i+1]})
	}
	e := w.event(author, at, nip34.KindState, tags...)
	if v := w.publish(e); !v.OK() {
		w.Fatalf("state: %+v", v)
	}
	return e
}

func (w *world) served(events ...*nostr.Event) {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	for _, e := range events {
		if _, ok, err := v.Get(e.ID); err != nil || !ok {
			w.Fatalf("kind %d is not served: %v", e.Kind, err)
		}
	}
}

func (w *world) waits(events ...*nostr.Event) {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	for _, e := range events {
		k, err := v.Known(e.ID)
		if _, served, _ := v.Get(e.ID); err != nil || served || k.State != store.InWaiting {
			w.Fatalf("kind %d does not wait: %+v, %v", e.Kind, k, err)
		}
	}
}

func (w *world) cloneURL(e *nostr.Event) string { return w.service.CloneURL(e.PubKey, e.Tags.D()) }

// repo is a repository of a contributor.
type repo struct {
	*world
	dir string
}

// git runs git as a contributor does, without their configuration.
func (w *world) git(dir string, args ...string) (string, error) {
	out, err := w.gitIn(dir, "", args...)
	return strings.TrimSpace(out), err
}

// gitIn gives it something to read, and all that it writes.
func (w *world) gitIn(dir, in string, args ...string) (string, error) {
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=/nonexistent", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "LC_ALL=C")
	var out bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(in), &out, &out
	err := c.Run()
	return out.String(), err
}

func (w *world) newRepo() *repo {
	w.Helper()
	r := &repo{w, w.TempDir()}
	r.must("init", "-q", "-b", "main")
	return r
}

func (r *repo) must(args ...string) string {
	r.Helper()
	out, err := r.git(r.dir, args...)
	if err != nil {
		r.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// fails runs git, which is to fail and to say so.
func (r *repo) fails(says string, args ...string) {
	r.Helper()
	out, err := r.git(r.dir, args...)
	if err == nil || !strings.Contains(out, says) {
		r.Fatalf("git %s: %v, and not %q:\n%s", strings.Join(args, " "), err, says, out)
	}
}

// commit makes one that changes a file, and gives its id.
func (r *repo) commit(text string) string {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "file"), []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	r.must("add", ".")
	r.must("commit", "-q", "-m", text[:min(len(text), 20)])
	return r.must("rev-parse", "HEAD")
}

// onlyPack is the pack of a repository that has one.
func (r *repo) onlyPack() ([]byte, error) {
	packs, err := filepath.Glob(filepath.Join(r.dir, ".git/objects/pack/*.pack"))
	if err != nil || len(packs) != 1 {
		return nil, fmt.Errorf("%q: %w", packs, err)
	}
	return os.ReadFile(packs[0])
}

func from(address, network string) refs.From { return refs.From{Address: address, Network: network} }

// clone clones a URL and gives its refs, a line each.
func (w *world) clone(url string) (*repo, string) {
	w.Helper()
	r := &repo{w, filepath.Join(w.TempDir(), "clone")}
	if out, err := w.git(w.TempDir(), "clone", "-q", url, r.dir); err != nil {
		w.Fatalf("clone: %v\n%s", err, out)
	}
	return r, r.must("for-each-ref", "--format=%(refname) %(objectname)")
}

func (w *world) lsRemote(url string) string {
	w.Helper()
	out, err := w.git(w.TempDir(), "ls-remote", "-q", url)
	if err != nil {
		w.Fatalf("ls-remote: %v\n%s", err, out)
	}
	return strings.ReplaceAll(out, "\t", " ")
}

// eventually waits for what follows a commit.
func (w *world) eventually(what string, is func() bool) {
	w.Helper()
	look, late := time.NewTicker(5*time.Millisecond), time.After(20*time.Second)
	defer look.Stop()
	for !is() {
		select {
		case <-look.C:
		case <-late:
			w.Fatal("never: " + what)
		}
	}
}

// lines are refs as ls-remote prints them: ids and names in turns.
func lines(pairs ...string) string {
	var out []string
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, fmt.Sprint(pairs[i], " ", pairs[i+1]))
	}
	return strings.Join(out, "\n")
}
