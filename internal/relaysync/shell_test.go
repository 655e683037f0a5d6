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

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/store"
	"github.com/graspd/graspd/internal/testkit"
)

// shelf is a peer over a store that holds one event and remembers another.
func shelf(t *testing.T) (p *peer, stored, remembered *nostr.Event) {
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
	return newPeer(New(Config{Store: s}), "wss://r.example.net", plan.NewPeer(plan.Config{})), stored, remembered
}

// What is compared with a relay is all that was decided here, or what was
// refused would be among what is needed every time.
func TestTheLocalSetHasWhatWasRefused(t *testing.T) {
	p, stored, remembered := shelf(t)
	in := p.load(t.Context(), plan.LoadSet{Sub: "n1", Filter: nostr.Filter{Tags: []nostr.TagFilter{{Name: 'a', Values: []string{"x"}}}}})
	if set := in.Set; set == nil || set.Len() != 2 || nostr.ID(set.At(0).ID) != remembered.ID || nostr.ID(set.At(1).ID) != stored.ID {
		t.Errorf("the set is %+v", in.Set)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if in := p.load(ended, plan.LoadSet{}); in.Set != nil {
		t.Error("a set that was not read to its end is taken for one")
	}
}

// Needed ids are fetched when they are neither stored nor remembered.
func TestOnlyWhatIsUnknownIsFetched(t *testing.T) {
	p, stored, remembered := shelf(t)
	a, b := nostr.ID{1}, nostr.ID{2}
	got := p.sift(t.Context(), plan.Sift{Sub: "k1", IDs: []nostr.ID{a, stored.ID, remembered.ID, b}})
	if got.Failed || got.Sub != "k1" || len(got.Unknown) != 2 || got.Unknown[0] != a || got.Unknown[1] != b {
		t.Errorf("got %+v", got)
	}
	if want := []plan.Dated{{ID: stored.ID, At: stored.CreatedAt}, {ID: remembered.ID, At: remembered.CreatedAt}}; !slices.Equal(got.Known, want) {
		t.Errorf("known are %+v, want %+v", got.Known, want)
	}
	for range cap(p.engine.loads) {
		p.engine.loads <- struct{}{}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := p.sift(ended, plan.Sift{IDs: []nostr.ID{a}}); !got.Failed {
		t.Error("ids that were not looked up are taken for unknown")
	}
}

// What answers a request, what comes too late for it, and what nobody asked for.
func TestWhatAnswersARequest(t *testing.T) {
	since := int64(100)
	a := newAsked()
	a.open(plan.Request{Sub: "s1", Class: plan.Daily, Filters: []nostr.Filter{
		{Kinds: []nostr.Kind{30617}},
		{Tags: []nostr.TagFilter{{Name: 'A', Values: []string{"30617:aa:x"}}}, Since: &since},
	}})
	event := func(at int64, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
		return &nostr.Event{Kind: kind, CreatedAt: at, Tags: tags}
	}
	for _, c := range []struct {
		what        string
		sub         string
		e           *nostr.Event
		taken, late bool
	}{
		{"what was asked for by kind", "s1", event(1, 30617), true, false},
		{"what was asked for by tag", "s1", event(200, 1, nostr.Tag{"A", "30617:aa:x"}), true, false},
		{"the value under another name", "s1", event(200, 1, nostr.Tag{"a", "30617:aa:x"}), true, false},
		{"a value that begins alike", "s1", event(200, 1, nostr.Tag{"A", "30617:aa:xy"}), true, false},
		{"the same from before that time", "s1", event(99, 1, nostr.Tag{"A", "30617:aa:xy"}), false, true},
		{"another value", "s1", event(200, 1, nostr.Tag{"A", "30617:bb:x"}), false, false},
		{"a tag that relays do not index", "s1", event(200, 1, nostr.Tag{"alt", "30617:aa:x"}), false, false},
		{"no tag", "s1", event(200, 1), false, false},
		{"another request", "s2", event(1, 30617), false, false},
	} {
		if q, late := a.answer(c.sub, c.e); (q != nil) != c.taken || late != c.late {
			t.Errorf("%s: taken %t, late %t", c.what, q != nil, late)
		}
	}
	if q, _ := a.answer("s1", event(1, 30617)); q.source() != store.Daily {
		t.Errorf("it comes from %v", q.source())
	}
	a.end("s1", 10*time.Minute)
	a.end("s1", 11*time.Minute) // a second CLOSE
	for _, e := range []*nostr.Event{event(1, 30617), event(200, 1)} {
		if q, late := a.answer("s1", e); q != nil || !late {
			t.Errorf("after its end: taken %t, late %t", q != nil, late)
		}
	}
	a.open(plan.Request{Sub: "s3"})
	a.end("s3", 11*time.Minute+time.Second)
	if _, late := a.answer("s1", event(1, 30617)); late || len(a.subs) != 1 {
		t.Errorf("a minute later: late %t, %d requests kept", late, len(a.subs))
	}
}

// TestWhatIsDroppedIsCounted: events from outside the time that was asked for, and those of a request that has ended, are
// held against the relay when there are too many; what answers a request never is.
func TestWhatIsDroppedIsCounted(t *testing.T) {
	since := int64(100)
	a := newAsked()
	filters := []nostr.Filter{{Kinds: []nostr.Kind{1}, Since: &since}}
	for _, sub := range []string{"s1", "s2"} {
		a.open(plan.Request{Sub: sub, Filters: filters})
	}
	early, asked := &nostr.Event{Kind: 1, CreatedAt: 99}, &nostr.Event{Kind: 1, CreatedAt: 100}
	late := func(sub string, e *nostr.Event, most int) {
		t.Helper()
		for n := range most + 2 {
			if q, late := a.answer(sub, e); q != nil || late != (n < most) {
				t.Fatalf("event %d of %s: taken %v, late %v", n, sub, q != nil, late)
			}
		}
	}
	late("s1", early, mostOutside)
	for _, sub := range []string{"s1", "s2"} {
		if q, _ := a.answer(sub, asked); q == nil {
			t.Errorf("%s is not answered", sub)
		}
	}
	late("s2", early, mostOutside)
	a.end("s1", 0)
	late("s1", asked, mostLate)
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
	e := &Engine{peers: map[grasp.RelayURL]*peer{
		"wss://gone.example.net":  {calls: make(chan func(context.Context)), left: left},
		"wss://stuck.example.net": {calls: make(chan func(context.Context)), left: make(chan struct{})},
	}}
	close(left)
	if err := e.retry(t.Context(), "wss://gone.example.net"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("the shell has ended: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.retry(ctx, "wss://stuck.example.net"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("the engine stops: %v", err)
	}
}
