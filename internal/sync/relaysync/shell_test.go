package relaysync

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/unsolicited"
	"github.com/graspd/graspd/internal/test/testkit"
)

// shelf is a peer over a store that holds one event and remembers another.
func shelf(t *testing.T) (p *shell, stored, remembered *nostr.Event) {
	s, err := store.Open(store.Options{Dir: "store", FS: vfs.NewMem(), CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	stored = testkit.Sign(testkit.Key(1), 100, 1, "stored", nostr.Tag{"a", "x"})
	remembered = testkit.Sign(testkit.Key(1), 90, 1, "refused", nostr.Tag{"a", "x"})
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Add(stored, store.Direct); err != nil {
		t.Fatal(err)
	}
	if err := b.Remember(remembered, policy.Refuse); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	return newPeer(New(Config{Store: s}), "wss://r.example.net", peer.NewPeer(peer.Config{})), stored, remembered
}

// What is compared with a relay is all that was decided here, or what was
// refused would be among what is needed every time.
func TestTheLocalSetHasWhatWasRefused(t *testing.T) {
	p, stored, remembered := shelf(t)
	in := p.load(t.Context(), peer.LoadSet{Sub: "n1", Filter: nostr.Filter{Tags: []nostr.TagFilter{{Name: 'a', Values: []string{"x"}}}}})
	if set := in.Set; set == nil || set.Len() != 2 || nostr.ID(set.At(0).ID) != remembered.ID || nostr.ID(set.At(1).ID) != stored.ID {
		t.Errorf("the set is %+v", in.Set)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if in := p.load(ended, peer.LoadSet{}); in.Set != nil {
		t.Error("a set that was not read to its end is taken for one")
	}
}

// Needed ids are fetched when they are neither stored nor remembered.
func TestOnlyWhatIsUnknownIsFetched(t *testing.T) {
	p, stored, remembered := shelf(t)
	a, b := nostr.ID{1}, nostr.ID{2}
	got := p.sift(t.Context(), peer.Sift{Sub: "k1", IDs: []nostr.ID{a, stored.ID, remembered.ID, b}})
	if got.Failed || got.Sub != "k1" || len(got.Unknown) != 2 || got.Unknown[0] != a || got.Unknown[1] != b {
		t.Errorf("got %+v", got)
	}
	if want := []nostr.Stamp{stored.Stamp(), remembered.Stamp()}; !slices.Equal(got.Known, want) {
		t.Errorf("known are %+v, want %+v", got.Known, want)
	}
	for range cap(p.engine.loads) {
		p.engine.loads <- struct{}{}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := p.sift(ended, peer.Sift{IDs: []nostr.ID{a}}); !got.Failed {
		t.Error("ids that were not looked up are taken for unknown")
	}
}

// A request is known while it is open, and for a minute after its end.
func TestRequestsAreKnownAMinuteLonger(t *testing.T) {
	a := newAsked()
	a.open(peer.Request{Sub: "s1", Class: peer.Daily, Filters: []nostr.Filter{{Kinds: []nostr.Kind{1}}}})
	e := &nostr.Event{Kind: 1}
	if q := a.find("s1"); q == nil || q.Classify(e) != unsolicited.Expected || q.source() != store.Daily {
		t.Errorf("open: %+v", q)
	}
	if a.find("s2") != nil {
		t.Error("another request is known")
	}
	a.end("s1", 10*time.Minute)
	a.end("s1", 11*time.Minute) // a second CLOSE
	if q := a.find("s1"); q == nil || q.Classify(e) != unsolicited.Stale {
		t.Errorf("after its end: %+v", q)
	}
	a.open(peer.Request{Sub: "s3"})
	a.end("s3", 11*time.Minute+time.Second)
	if a.find("s1") != nil || len(a.subs) != 1 {
		t.Errorf("a minute later %d requests are kept", len(a.subs))
	}
}

// mute is a connection on which nothing comes, and no pong either until it answers.
type mute struct {
	Conn
	answers atomic.Bool
}

func (c *mute) Ping(ctx context.Context) error {
	if c.answers.Load() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

const pingEvery = 30 * time.Second

// A connection without two pongs in a row is given up; a single one keeps it.
func TestPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(io.EOF)
		c := &mute{}
		c.answers.Store(true)
		l, in := &link{conn: c, cancel: cancel}, newInbox()
		go l.ping(ctx, in, pingEvery)
		time.Sleep(pingEvery + time.Second)
		if len(in.take(nil)) != 1 {
			t.Error("a pong is no sign of life")
		}
		for range 5 {
			c.answers.Store(false)
			time.Sleep(2*pingEvery - 2*time.Second)
			l.frames.Add(1) // something was read, though no pong
			time.Sleep(2 * time.Second)
		}
		c.answers.Store(true)
		time.Sleep(2 * pingEvery)
		if ctx.Err() != nil {
			t.Fatalf("given up: %v", context.Cause(ctx))
		}
		c.answers.Store(false)
		time.Sleep(5 * pingEvery)
		synctest.Wait()
		if err := context.Cause(ctx); !errors.Is(err, errNoPong) {
			t.Errorf("without any pong: %v", err)
		}
	})
}

// While the reader waits for the door, no pong can be seen.
func TestPingsWhileTheReaderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(io.EOF)
		l := &link{conn: &mute{}, cancel: cancel}
		l.busy.Store(true)
		go l.ping(ctx, newInbox(), pingEvery)
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Errorf("given up: %v", context.Cause(ctx))
		}
	})
}

// TestARetryThatNobodyTakes is told to whoever asked for it: its relay's shell has ended, or the engine stops.
func TestARetryThatNobodyTakes(t *testing.T) {
	left := make(chan struct{})
	e := &Engine{peers: map[grasp.RelayURL]*shell{
		"wss://gone.example.net":  {calls: make(chan func(context.Context)), left: left},
		"wss://stuck.example.net": {calls: make(chan func(context.Context)), left: make(chan struct{})},
	}}
	close(left)
	if err := e.retryNow(t.Context(), "wss://gone.example.net"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("the shell has ended: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.retryNow(ctx, "wss://stuck.example.net"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("the engine stops: %v", err)
	}
}
