package relaysync

import (
	"bytes"
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/test/testkit"
)

// reader is a peer that reads the whole set of a store at a time that the test sets.
type reader struct {
	*shell
	t     *testing.T
	store *store.Store
	now   time.Duration
}

func newReader(t *testing.T) *reader {
	var free atomic.Uint64
	free.Store(1 << 40)
	s, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, store: openStore(t, vfs.NewMem(), &free), now: time.Hour}
	e := New(Config{Store: r.store, Service: s, Logger: slog.New(slog.DiscardHandler), Now: func() backoff.Now { return backoff.Now{Mono: r.now} }})
	r.shell = newPeer(e, "wss://other.example.net", peer.NewPeer(peer.Config{}))
	return r
}

// put stores n events, or remembers them as refused.
func (r *reader) put(from, n int, refused bool) {
	r.t.Helper()
	b, err := r.store.Begin()
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range n {
		e := testkit.Issue(testkit.Key(1), int64(1_800_000_000+from+i), "30617:aa:x", "an issue")
		if refused {
			err = b.Remember(e, policy.Refuse)
		} else {
			_, err = b.Add(e, store.Catchup)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	if _, err := b.Commit(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *reader) load(sub string, most int) peer.Loaded {
	r.t.Helper()
	in := r.loadWhole(r.t.Context(), peer.LoadSet{Sub: sub, Filter: nostr.Filter{}, Most: most})
	if in.Sub != sub {
		r.t.Errorf("%s is answered as %s", sub, in.Sub)
	}
	return in
}

// Relays that are compared as a whole at about the same time share one set, until it is old, much was stored since, or
// what was refused may be taken.
func TestTheWholeSetIsShared(t *testing.T) {
	r := newReader(t)
	r.put(0, 2000, false)
	r.put(5000, 3, true)
	first := r.load("a", 10_000)
	if first.Set.Len() != 2003 || len(first.Values) != 2003 {
		t.Fatalf("%d items, %d values", first.Set.Len(), len(first.Values))
	}
	shown := 0
	for _, v := range first.Values {
		if v == 0 {
			shown++
		}
	}
	if shown != 2000 {
		t.Errorf("%d are told to be shown", shown)
	}
	r.put(3000, 2, false)
	r.now += wholeAge
	if r.load("b", 10_000).Set != first.Set {
		t.Error("it is read again though it is young and little was stored since")
	}
	r.put(3100, 1, false)
	second := r.load("c", 10_000)
	if second.Set == first.Set || second.Set.Len() != 2006 {
		t.Errorf("much was stored since, and it has %d items", second.Set.Len())
	}
	r.engine.whole.outdate()
	third := r.load("d", 10_000)
	if third.Set == second.Set {
		t.Error("it is not read again though what was refused may be taken")
	}
	r.now += wholeAge + 1
	if r.load("e", 10_000).Set == third.Set {
		t.Error("it is used for too long")
	}
	r.engine.whole.expire(r.now)
	if r.engine.whole.set.Set == nil {
		t.Error("it is dropped though it may be used again")
	}
	r.engine.whole.expire(r.now + wholeAge + 1)
	if r.engine.whole.set.Set != nil {
		t.Error("it is kept though nothing will use it")
	}
}

func TestAWholeSetThatIsTooLargeIsNone(t *testing.T) {
	r := newReader(t)
	r.put(0, 10, false)
	if in := r.load("a", 9); in.Set != nil {
		t.Errorf("%d items", in.Set.Len())
	}
	r.put(100, 1, false)
	if in := r.load("a2", 9); in.Set != nil || r.engine.whole.head != 10 {
		t.Error("it is read again for the next relay at once")
	}
	r.now += wholeAge + 1
	if in := r.load("b", 11); in.Set == nil || in.Set.Len() != 11 {
		t.Error("eleven are not read where eleven may be")
	}
	// Nobody waits for it longer than for the connection.
	r.engine.whole.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if in := r.loadWhole(ctx, peer.LoadSet{Sub: "c", Most: 10}); in.Set != nil {
		t.Error("a set for a connection that has ended")
	}
	r.engine.whole.expire(r.now) // does not wait either
	<-r.engine.whole.turn
	// What could not be read is read again for the next one.
	r.engine.whole.outdate()
	for range 50 {
		if in := r.loadWhole(ctx, peer.LoadSet{Sub: "d", Most: 100}); in.Set != nil {
			t.Fatal("a set for a connection that has ended")
		}
		if in := r.load("e", 100); in.Set == nil {
			t.Fatal("none for one that is open")
		}
		r.engine.whole.outdate()
	}
}

// deaf answers no dial before its end.
type deaf struct{}

func (deaf) Dial(ctx context.Context, _ grasp.RelayURL) (Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (deaf) Info(ctx context.Context, _ grasp.RelayURL) (nip11.Document, error) {
	<-ctx.Done()
	return nip11.Document{}, ctx.Err()
}

// What was decided against may belong to what is wanted newly.
func TestANewWantOutdatesTheWholeSet(t *testing.T) {
	r := newReader(t)
	r.put(0, 10, false)
	var log bytes.Buffer
	e := r.engine
	e.cfg.Dialer, e.records = deaf{}, newLedger(t, r.store, &log)
	first := r.load("a", 100)
	ctx, cancel := context.WithCancel(t.Context())
	e.desired.Add(testkit.Announcement(testkit.Key(1), 1_800_000_000, "x", "wss://relay.example.org", "wss://other.example.net"))
	e.deliver(ctx)
	if len(e.peers) != 1 {
		t.Errorf("%d relays are wanted", len(e.peers))
	}
	if r.load("b", 100).Set == first.Set {
		t.Error("the set is used though something is wanted newly")
	}
	// Nor is it used when lists have become looser, even where that changes no Want.
	second := r.load("c", 100)
	e.list(ctx, listsChange{looser: true})
	if r.load("d", 100).Set == second.Set {
		t.Error("the set is used though what was refused may be taken")
	}
	cancel()
	e.running.Wait()
}

func TestAttribute(t *testing.T) {
	r := newReader(t)
	r.put(0, 3, false)
	e := testkit.Issue(testkit.Key(1), 1_800_000_001, "30617:aa:x", "an issue")
	in := r.attribute(t.Context(), peer.Attribute{Sub: "w1", IDs: []nostr.ID{e.ID, {7}}})
	if in.Sub != "w1" || in.Failed || len(in.Names) != 1 || len(in.Names[0]) != 1 || in.Names[0][0] != "a30617:aa:x" {
		t.Errorf("%+v", in)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if in := r.attribute(ctx, peer.Attribute{Sub: "w2"}); !in.Failed || in.Sub != "w2" {
		t.Errorf("after the end of the connection: %+v", in)
	}
}
