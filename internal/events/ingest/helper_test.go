package ingest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// marked is a Verifier for which a signature is genuine when it begins with the mark of sign. It counts the checks of
// every id, and takes Delay for each.
type marked struct {
	Delay time.Duration
	Gate  func(nostr.ID, nostr.Sig) // called before the answer; may block
	total atomic.Int64

	mu   sync.Mutex
	seen map[nostr.ID]int
}

const mark = 0xf0

func (m *marked) Verify(_ nostr.PubKey, id nostr.ID, sig nostr.Sig) bool {
	m.total.Add(1)
	m.mu.Lock()
	if m.seen == nil {
		m.seen = make(map[nostr.ID]int)
	}
	m.seen[id]++
	m.mu.Unlock()
	if m.Delay > 0 {
		time.Sleep(m.Delay)
	}
	if m.Gate != nil {
		m.Gate(id, sig)
	}
	return sig[0] == mark
}

func (m *marked) checks(id nostr.ID) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[id]
}

// world is a running door over a store in memory.
type world struct {
	*testing.T
	store    *store.Store
	door     *ingest.Door
	verifier *marked
	fs       vfs.FS
	run      func() // for a world that was set up idle
	abandon  func() // end for a store whose disk has failed
	end      func() // stops the door, waits for it and closes the store
}

// setup is what a world is built from; the zero value will do.
type setup struct {
	fs     vfs.FS
	opt    store.Options
	config ingest.Config
	pow    int  // the difficulty of the rules
	idle   bool // Run is not called yet
	git    func(*store.Store) *refdb.Ledger

	objects refdb.Objects // of a host; nil is its shelf
}

const domain = "relay.example.org"

func newWorld(t *testing.T, s setup) *world {
	t.Helper()
	if s.fs == nil {
		s.fs = vfs.NewMem()
	}
	s.opt.Dir, s.opt.FS = "data", s.fs
	s.config.Rules = policy.Rules{Service: mustService(t), MinPoW: s.pow, Git: s.git != nil}
	s.opt.Rules = s.config.Rules.Fingerprint()
	st, err := store.Open(s.opt)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, store: st, fs: s.fs, verifier: &marked{}}
	switch v := s.config.Verifier.(type) {
	case nil:
		s.config.Verifier = w.verifier
	case *marked:
		w.verifier = v
	}
	s.config.Store = st
	if s.git != nil {
		s.config.Ledger = s.git(st)
	}
	w.door = ingest.New(s.config)
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	w.run = func() {
		running.Go(func() {
			if err := w.door.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	var once sync.Once
	w.end = func() {
		once.Do(func() {
			cancel()
			running.Wait()
			w.nothingLeaked()
			if err := st.Close(); err != nil {
				t.Errorf("close store: %v", err)
			}
		})
	}
	w.abandon = func() {
		once.Do(func() {
			cancel()
			running.Wait()
			_ = st.Close() // its disk has failed, and so may this
		})
	}
	if !s.idle {
		w.run()
	}
	return w
}

func mustService(t *testing.T) grasp.Service {
	t.Helper()
	service, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	return service
}

func newMem() vfs.FS { return vfs.NewMem() }

// nothingLeaked compares what an ended door keeps with what it has reason to.
func (w *world) nothingLeaked() {
	w.Helper()
	proofs, left := w.door.Kept()
	if n := w.door.Stats().Orphans; int64(proofs) != n || left != 0 {
		w.Errorf("%d ids and %d bytes are kept for %d orphans", proofs, left, n)
	}
}

func (w *world) client() *ingest.Source {
	return w.door.Source(ingest.SourceConfig{Label: "client", Direct: true})
}

func (w *world) peer(label string) *ingest.Source {
	return w.door.Source(ingest.SourceConfig{Label: label})
}

// submit hands in an event and gives the channel on which its verdict comes.
func (w *world) submit(s *ingest.Source, e *nostr.Event, from store.Source) <-chan policy.Verdict {
	w.Helper()
	c := make(chan policy.Verdict, 2)
	if err := s.Submit(context.Background(), e, from, func(v policy.Verdict) { c <- v }); err != nil {
		w.Fatalf("submit: %v", err)
	}
	return c
}

// publish is what a client does; it waits for the verdict.
func (w *world) publish(s *ingest.Source, e *nostr.Event) policy.Verdict {
	w.Helper()
	return <-w.submit(s, e, store.Direct)
}

// fetch is what a peer does; it waits for the verdict.
func (w *world) fetch(s *ingest.Source, e *nostr.Event) policy.Verdict {
	w.Helper()
	return <-w.submit(s, e, store.Catchup)
}

func (w *world) want(got policy.Verdict, o policy.Outcome) {
	w.Helper()
	if got.Outcome != o {
		w.Fatalf("verdict is %s %q, want %s", got.Outcome, got.Reason, o)
	}
}

// wantOrphan is want for any of the three.
func (w *world) wantOrphan(got policy.Verdict) {
	w.Helper()
	if !got.Outcome.Orphan() {
		w.Fatalf("verdict is %s %q, want one that other events may change", got.Outcome, got.Reason)
	}
}

// get is the durable event with that id, or nil.
func (w *world) get(id nostr.ID) *nostr.Event {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	e, _, err := v.Get(id)
	if err != nil {
		w.Fatal(err)
	}
	return e
}

func (w *world) known(e *nostr.Event) store.Knowledge {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	k, err := v.Known(e.ID)
	if err != nil {
		w.Fatal(err)
	}
	return k
}

// ids is everything that is served, in the order of the hex.
func (w *world) ids() []string {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	var ids []string
	for row, err := range v.Query(context.Background(), nostr.Filter{}) {
		if err != nil {
			w.Fatal(err)
		}
		ids = append(ids, row.ID.String())
	}
	return ids
}

// scaled is n, or some of it where tests are to be short or every step of them costs ten times as much.
func scaled(n, short int) int {
	if testing.Short() || raceDetector {
		return short
	}
	return n
}

// key is the public key of the nth author. With the marked verifier it needs no secret.
func key(n int) nostr.PubKey { return nostr.PubKey{1, byte(n >> 8), byte(n)} }

// sign fills in the id and the mark.
func sign(e nostr.Event) *nostr.Event {
	e.ID = e.ComputeID()
	e.Sig[0] = mark
	copy(e.Sig[1:], e.ID[:])
	return &e
}

// forge is the same id and tags with another content.
func forge(e *nostr.Event) *nostr.Event {
	f := e.Clone()
	f.Content += " forged"
	return f
}

// missigned is the same event with a signature that is not genuine.
func missigned(e *nostr.Event) *nostr.Event {
	f := e.Clone()
	f.Sig[0] = 0
	return f
}

func event(author int, at time.Time, kind nostr.Kind, content string, tags ...nostr.Tag) *nostr.Event {
	return sign(nostr.Event{PubKey: key(author), CreatedAt: at.Unix(), Kind: kind, Tags: tags, Content: content})
}

// announcement lists this relay.
func announcement(author int, d string, at time.Time, more ...nostr.Tag) *nostr.Event {
	return event(author, at, nip34.KindRepository, "", append(nostr.Tags{{"d", d}, {"name", d},
		{"clone", "https://" + domain + "/x/" + d + ".git"}, {"relays", "wss://" + domain}}, more...)...)
}

// elsewhere is an announcement that does not list this relay.
func elsewhere(author int, d string, at time.Time, more ...nostr.Tag) *nostr.Event {
	return event(author, at, nip34.KindRepository, "", append(nostr.Tags{{"d", d}, {"name", d},
		{"clone", "https://other.example.net/x/" + d + ".git"}, {"relays", "wss://other.example.net"}}, more...)...)
}

func maintainers(authors ...int) nostr.Tag {
	t := nostr.Tag{"maintainers"}
	for _, a := range authors {
		t = append(t, key(a).String())
	}
	return t
}

func state(author int, d string, at time.Time) *nostr.Event {
	return event(author, at, nip34.KindState, "", nostr.Tag{"d", d},
		nostr.Tag{"refs/heads/main", strings.Repeat("a", 40)}, nostr.Tag{"HEAD", "ref: refs/heads/main"})
}

func issue(author int, repo *nostr.Event, at time.Time, content string) *nostr.Event {
	return event(author, at, nip34.KindIssue, content, nostr.Tag{"a", repo.Address()}, nostr.Tag{"subject", content})
}

func comment(author int, to *nostr.Event, at time.Time, content string) *nostr.Event {
	return event(author, at, nostr.KindComment, content, nostr.Tag{"E", to.ID.String()}, nostr.Tag{"e", to.ID.String()},
		nostr.Tag{"K", fmt.Sprint(to.Kind)}, nostr.Tag{"k", fmt.Sprint(to.Kind)})
}

func deletion(author int, at time.Time, targets ...*nostr.Event) *nostr.Event {
	var tags nostr.Tags
	for _, e := range targets {
		if a := e.Address(); a != "" {
			tags = append(tags, nostr.Tag{"a", a})
		} else {
			tags = append(tags, nostr.Tag{"e", e.ID.String()})
		}
	}
	return event(author, at, nostr.KindDeletion, "", tags...)
}

// shuffle is another order of the events, the same for the same seed.
func shuffle(seed uint64, events []*nostr.Event) []*nostr.Event {
	order := append([]*nostr.Event(nil), events...)
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}
