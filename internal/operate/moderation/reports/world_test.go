package reports_test

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/operate/moderation/moderator"
	"github.com/graspd/graspd/internal/operate/moderation/reports"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func key(name string) nostr.PubKey { return nostr.PubKey(sha256.Sum256([]byte(name))) }

func eventAt(at int64, author string, kind nostr.Kind, text string, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{PubKey: key(author), CreatedAt: at, Kind: kind, Content: text, Tags: tags}
	e.ID = e.ComputeID()
	return e
}

type genuine struct{}

func (genuine) Verify(nostr.PubKey, nostr.ID, nostr.Sig) bool { return true }

// world is a relay's data with a door, a moderator and a desk.
type world struct {
	*testing.T
	fs     vfs.FS
	made   atomic.Int64 // makes each event another one
	store  *store.Store
	mod    *moderator.Moderator
	desk   *reports.Desk
	relay  *ingest.Source // another relay, whom no rate concerns
	client *ingest.Source
	stop   func()
}

const begun = 1_800_000_000

func newWorld(t *testing.T) *world {
	w := &world{T: t, fs: vfs.NewMem(), stop: func() {}}
	t.Cleanup(func() { w.stop() })
	w.start()
	return w
}

func (w *world) event(author string, kind nostr.Kind, text string, tags ...nostr.Tag) *nostr.Event {
	return eventAt(begun-100_000+w.made.Add(1), author, kind, text, tags...)
}

// start opens everything, anew where it was open.
func (w *world) start() {
	w.Helper()
	w.stop()
	clock := func() time.Time { return time.Unix(begun, 0) }
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		w.Fatal(err)
	}
	s, err := store.Open(store.Options{Dir: "data", FS: w.fs, Now: clock})
	if err != nil {
		w.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(testLog{w.T}, nil))
	decided, err := moderator.Read(s)
	if err != nil {
		w.Fatal(err)
	}
	rules := policy.Rules{Service: service}
	inForce := rules
	inForce.Lists = decided.With(rules.Lists)
	d := ingest.New(ingest.Config{Store: s, Rules: inForce, Verifier: genuine{}, Now: clock, Logger: log})
	m := moderator.New(moderator.Config{Store: s, Decided: decided, Door: d, Rules: rules, Now: clock, Logger: log})
	desk, err := reports.Open(w.Context(), reports.Config{Store: s, Door: d, Moderator: m, Now: clock, Logger: log})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var door, rest sync.WaitGroup
	door.Go(func() { _ = d.Run(ctx) })
	ends, end := context.WithCancel(context.Background())
	rest.Go(func() { _ = m.Run(ends) })
	rest.Go(func() { _ = desk.Run(ends) })
	w.store, w.mod, w.desk = s, m, desk
	w.relay = d.Source(ingest.SourceConfig{Label: "relay"})
	w.client = d.Source(ingest.SourceConfig{Label: "client", Direct: true, Party: "client 198.51.100.1"})
	var once sync.Once
	w.stop = func() {
		once.Do(func() {
			end()
			rest.Wait()
			cancel()
			door.Wait()
			if err := s.Close(); err != nil {
				w.Error(err)
			}
		})
	}
}

type testLog struct{ testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

func (w *world) say(by *ingest.Source, e *nostr.Event) policy.Verdict {
	w.Helper()
	said := make(chan policy.Verdict, 1)
	if err := by.Submit(w.Context(), e, store.Live, func(v policy.Verdict) { said <- v }); err != nil {
		w.Fatal(err)
	}
	return <-said
}

// must gives events to the door, which takes all of them.
func (w *world) must(events ...*nostr.Event) {
	w.Helper()
	for _, e := range events {
		if v := w.say(w.relay, e); v.Outcome != policy.Accept {
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

// repository is alice's, with an issue by bob.
func (w *world) repository() (announcement, issue *nostr.Event) {
	w.Helper()
	announcement = w.event("alice", nip34.KindRepository, "", nostr.Tag{"d", "d"}, nostr.Tag{"relays", "wss://relay.example.org"})
	a := nip34.Address{Kind: nip34.KindRepository, PubKey: key("alice"), D: "d"}
	issue = w.event("bob", nip34.KindIssue, "buy this", nostr.Tag{"a", a.String()})
	w.must(announcement, issue)
	return announcement, issue
}

func (w *world) report(by string, e *nostr.Event, kind string) *nostr.Event {
	return w.event(by, nostr.KindReport, "look", nostr.Tag{"e", e.ID.String(), kind}, nostr.Tag{"p", e.PubKey.String()})
}

// open is what is open, once the desk has looked, which are so many.
func (w *world) open(n int) []moderation.Reported {
	w.Helper()
	time.Sleep(10 * time.Second)
	list := w.desk.Open()
	if len(list) != n {
		w.Fatalf("%d are open, not %d", len(list), n)
	}
	return list
}
