package relaysync

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/peer"
)

// An input that need not be taken at once wakes the shell only where the inbox is full.
func TestAnInputThatCanWaitWakesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newInbox(), &link{}
		for range inboxBound - 1 {
			b.addWaiting(t.Context(), l, peer.Received{})
		}
		if len(b.ready) > 0 {
			t.Fatal("the shell is woken")
		}
		ok := make(chan bool, 1)
		go func() { ok <- b.addWaiting(t.Context(), l, peer.Received{}) }()
		synctest.Wait()
		if len(b.ready) != 1 || len(ok) > 0 {
			t.Fatalf("full: %d tokens, and the reader goes on: %v", len(b.ready), len(ok) > 0)
		}
		if n := len(b.take(nil)); n != inboxBound || !<-ok {
			t.Errorf("%d inputs", n)
		}
		b.addWaiting(t.Context(), l, peer.Received{})
		b.push(l, peer.Decided{})
		if got := b.take(nil); len(b.ready) != 1 || len(got) != 2 || got[0].in != (peer.Received{}) {
			t.Errorf("%d tokens for %v", len(b.ready), got)
		}
	})
}

// What woke nobody counts before the time of anything does.
func TestWhatWokeNobodyIsTakenWhenSomethingIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		now := func() backoff.Now { return backoff.Now{Wall: time.Now(), Mono: time.Since(begun)} }
		p := newPeer(New(Config{Now: now}), "wss://r.example.net", peer.NewPeer(peer.Config{}))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go p.work(ctx)
		synctest.Wait()
		p.inbox.add(nil, peer.Received{})
		left := func() int {
			p.inbox.mu.Lock()
			defer p.inbox.mu.Unlock()
			return len(p.inbox.items)
		}
		time.Sleep(time.Minute)
		if left() != 1 {
			t.Error("the shell was woken")
		}
		time.Sleep(24 * time.Hour) // when a machine that waits for nothing has its next step
		if synctest.Wait(); left() != 0 {
			t.Error("it is not taken")
		}
	})
}
