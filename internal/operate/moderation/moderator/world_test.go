package moderator_test

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storecheck"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/operate/moderation/moderator"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const ours = "wss://relay.example.org"

func key(name string) nostr.PubKey { return nostr.PubKey(sha256.Sum256([]byte(name))) }

// address is that of somebody's repository.
func address(owner, d string) string {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: key(owner), D: d}.String()
}

func subject(owner, d string) moderation.Subject {
	return moderation.Subject{Sort: moderation.Repository, PubKey: key(owner), D: d}
}

var begun = int64(1_799_000_000)

func event(author string, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	begun++
	e := &nostr.Event{PubKey: key(author), CreatedAt: begun, Kind: kind, Tags: tags}
	e.ID = e.ComputeID()
	return e
}

func announcement(owner, d string, more ...nostr.Tag) *nostr.Event {
	return event(owner, nip34.KindRepository, append([]nostr.Tag{{"d", d}, {"relays", ours}}, more...)...)
}

type genuine struct{}

func (genuine) Verify(nostr.PubKey, nostr.ID, nostr.Sig) bool { return true }

// world is a relay's data with a door and a moderator.
type world struct {
	*testing.T
	fs     vfs.FS
	now    atomic.Int64
	lists  policy.Lists // of the settings
	store  *store.Store
	door   *ingest.Door
	mod    *moderator.Moderator
	client *ingest.Source
	stop   func()
	fails  error // of what puts rules in force
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, fs: vfs.NewMem(), stop: func() {}}
	w.now.Store(1_800_000_000)
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *world) rules(l policy.Lists) policy.Rules {
	s, err := grasp.ParseService("relay.example.org")
	if err != nil {
		w.Fatal(err)
	}
	return policy.Rules{Service: s, Lists: l}
}

// start opens everything. Without work nothing that is decided is carried out.
func (w *world) start(work bool) {
	w.Helper()
	w.stop()
	clock := func() time.Time { return time.Unix(w.now.Load(), 0) }
	s, err := store.Open(store.Options{Dir: "data", FS: w.fs, Now: clock})
	if err != nil {
		w.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(testLog{w.T}, nil))
	decided, err := moderator.Read(s)
	if err != nil {
		w.Fatal(err)
	}
	d := ingest.New(ingest.Config{Store: s, Rules: w.rules(decided.With(w.lists)), Verifier: genuine{}, Now: clock, Logger: log})
	m := moderator.New(moderator.Config{Store: s, Decided: decided, Door: failing{d, w}, Rules: w.rules(w.lists), Now: clock, Logger: log})
	ctx, cancel := context.WithCancel(context.Background())
	var door, moderation sync.WaitGroup
	door.Go(func() { _ = d.Run(ctx) })
	mctx, end := context.WithCancel(context.Background())
	if work {
		moderation.Go(func() { _ = m.Run(mctx) })
	}
	w.store, w.door, w.mod = s, d, m
	w.client = d.Source(ingest.SourceConfig{Label: "client", Direct: true})
	var once sync.Once
	w.stop = func() {
		once.Do(func() {
			end()
			moderation.Wait()
			cancel()
			door.Wait()
			w.sound()
			if err := s.Close(); err != nil {
				w.Error(err)
			}
		})
	}
}

// failing is a door that puts no rules in force where its world says so.
type failing struct {
	*ingest.Door
	w *world
}

func (f failing) SetRules(ctx context.Context, rules policy.Rules) error {
	if f.w.fails != nil {
		return f.w.fails
	}
	return f.Door.SetRules(ctx, rules)
}

type testLog struct{ testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// sound checks the store.
func (w *world) sound() {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	r, err := storecheck.Check(context.Background(), v)
	if err != nil || len(r.Problems) > 0 {
		w.Errorf("the store is not sound: %v, %v", r.Problems, err)
	}
}

// publish gives events to the door, and what it says of the last.
func (w *world) publish(events ...*nostr.Event) (v policy.Verdict) {
	w.Helper()
	for _, e := range events {
		said := make(chan policy.Verdict, 1)
		if err := w.client.Submit(w.Context(), e, store.Direct, func(v policy.Verdict) { said <- v }); err != nil {
			w.Fatal(err)
		}
		v = <-said
	}
	return v
}

// must gives events to the door, which takes all of them.
func (w *world) must(events ...*nostr.Event) {
	w.Helper()
	for _, e := range events {
		if v := w.publish(e); v.Outcome != policy.Accept {
			w.Fatalf("kind %d: %v %q", e.Kind, v.Outcome, v.Reason)
		}
	}
}

func (w *world) has(e *nostr.Event) bool {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	_, ok, err := v.Get(e.ID)
	if err != nil {
		w.Fatal(err)
	}
	return ok
}

func (w *world) here(what string, want bool, events ...*nostr.Event) {
	w.Helper()
	for i, e := range events {
		if got := w.has(e); got != want {
			w.Errorf("%s: event %d of kind %d is here: %v", what, i, e.Kind, got)
		}
	}
}

func (w *world) bar(s moderation.Subject) moderation.Case {
	w.Helper()
	x, err := w.mod.Bar(w.Context(), moderation.Order{Subject: s, By: "a test", Why: "spam"})
	if err != nil {
		w.Fatal(err)
	}
	return x
}

// settled waits until a case has come as far as it does.
func (w *world) settled(n uint64) moderation.Case {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	x := w.mod.Await(ctx, n)
	if ctx.Err() != nil {
		w.Fatalf("case %d is still %q", n, x.State)
	}
	return x
}

// until waits for what is carried out by itself.
func (w *world) until(what string, ok func() bool) {
	w.Helper()
	for range 6000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.Fatalf("never: %s", what)
}

func (w *world) journal() (did []string) {
	w.Helper()
	list, err := w.mod.Journal(100)
	if err != nil {
		w.Fatal(err)
	}
	for _, x := range list {
		did = append(did, x.Did)
	}
	slices.Reverse(did)
	return did
}
