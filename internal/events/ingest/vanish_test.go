package ingest_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storecheck"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func vanish(author int, at time.Time) *nostr.Event {
	return event(author, at, nostr.KindVanish, "please", nostr.Tag{"relay", "wss://" + domain})
}

// check compares the whole store with its log.
func (w *world) check() {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	r, err := storecheck.Check(context.Background(), v)
	if err != nil || len(r.Problems) > 0 {
		w.Fatalf("check: %v, %v", r.Problems, err)
	}
}

// Whichever way the request comes, everything of its author leaves, the feed says so for each, and none of it comes back
// from clients or relays; what he publishes later is taken.
func TestAnAuthorVanishes(t *testing.T) {
	for _, direct := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, setup{})
			defer w.end()
			c, p, now := w.client(), w.peer("a"), time.Now()
			at := func(s int) time.Time { return now.Add(time.Duration(s-100) * time.Second) }
			repo, other := announcement(1, "tool", at(0), maintainers(3)), announcement(2, "other", at(0))
			invited := elsewhere(3, "tool", at(1), maintainers(1))
			bug, mine := issue(2, repo, at(1), "bug"), issue(1, other, at(1), "bug")
			answer := comment(2, mine, at(2), "answer")
			wrong := issue(1, other, at(2), "wrong")
			own := []*nostr.Event{repo, mine, state(1, "tool", at(3)), deletion(1, at(4), wrong)}
			for _, e := range []*nostr.Event{repo, other, invited, bug, mine, answer, own[2], own[3]} {
				w.want(w.publish(c, e), policy.Accept)
			}
			head := w.store.Head()
			submit := w.fetch
			if direct {
				submit = w.publish
			}
			src := map[bool]*ingest.Source{true: c, false: p}[direct]
			req := vanish(1, at(10))
			w.want(submit(src, req), policy.Accept)
			synctest.Wait()
			time.Sleep(time.Second)
			removed := map[nostr.ID]store.Reason{}
			entries, _, err := w.store.Since(head, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range entries {
				if x.Event == nil {
					removed[x.Removed] = x.Reason
				}
			}
			for _, e := range own {
				if removed[e.ID] != store.ReasonVanished || w.get(e.ID) != nil {
					t.Errorf("%d is still here, or the feed does not say it has gone (%v)", e.Kind, removed[e.ID])
				}
			}
			if removed[invited.ID] != store.ReasonWithdrawn || len(removed) != len(own)+1 {
				t.Errorf("the invited announcement: %v; %d removed", removed[invited.ID], len(removed))
			}
			for _, e := range []*nostr.Event{other, bug, answer, req} {
				if w.get(e.ID) == nil {
					t.Errorf("%d has gone with him", e.Kind)
				}
			}
			w.check()
			for _, e := range append(own, wrong, issue(1, other, at(10), "late")) {
				for range 2 {
					w.want(w.fetch(p, e), policy.Vanished)
					w.want(w.publish(c, e), policy.Vanished)
				}
				if n := w.verifier.checks(e.ID); n > 3 {
					t.Errorf("%d was verified %d times", e.Kind, n)
				}
			}
			w.want(w.publish(c, announcement(1, "tool", at(11))), policy.Accept)
			w.want(w.publish(c, issue(1, other, at(11), "new")), policy.Accept)
			w.want(w.publish(c, req), policy.Duplicate)
		})
	}
}

// A request that comes before anything by its author is here waits, and works when something comes.
func TestARequestBeforeTheEventsThatItConcerns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		p, now := w.peer("a"), time.Now()
		other := announcement(2, "other", now)
		req := vanish(1, now)
		old := issue(1, other, now.Add(-time.Minute), "old")
		w.want(w.fetch(p, other), policy.Accept)
		w.want(w.fetch(p, req), policy.Unrelated)
		w.want(w.fetch(p, old), policy.Accept)
		synctest.Wait()
		time.Sleep(time.Second)
		if w.get(req.ID) == nil || w.get(old.ID) != nil {
			t.Error("the request has not worked")
		}
		w.want(w.fetch(p, old), policy.Vanished)
	})
}

// Orphans of an author who vanished do not come in when what they waited for does.
func TestOrphansOfAVanishedAuthor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		p, now := w.peer("a"), time.Now()
		other, later := announcement(2, "other", now), announcement(2, "later", now)
		waiting := issue(1, later, now.Add(-time.Minute), "waiting")
		for _, e := range []*nostr.Event{other, issue(1, other, now, "bug")} {
			w.want(w.fetch(p, e), policy.Accept)
		}
		w.want(w.fetch(p, waiting), policy.Unrelated)
		w.want(w.fetch(p, vanish(1, now)), policy.Accept)
		w.want(w.fetch(p, later), policy.Accept)
		synctest.Wait()
		time.Sleep(time.Second)
		if k := w.known(waiting); k.State != store.Remembered || k.Why != policy.Vanished {
			t.Errorf("the orphan is known as %v", k)
		}
	})
}

// toll stops the writer wherever it asks for free disk, which is when it opens a batch and when it commits one.
type toll struct {
	on   atomic.Bool
	gate chan struct{}
}

func (x *toll) free() (uint64, error) {
	if x.on.Load() {
		<-x.gate
	}
	return 1 << 40, nil
}

// batch lets the writer open a batch and commit it.
func (x *toll) batch() {
	x.gate <- struct{}{}
	x.gate <- struct{}{}
	synctest.Wait()
}

// fill publishes n issues of author 1 to a repository of author 2.
func (w *world) fill(n int) (repo *nostr.Event) {
	now := time.Now()
	repo = announcement(2, "other", now)
	w.want(w.publish(w.client(), repo), policy.Accept)
	p := w.peer("fill")
	var last <-chan policy.Verdict
	for i := range n {
		last = w.submit(p, issue(1, repo, now.Add(-time.Duration(i)*time.Second), fmt.Sprint(i)), store.Catchup)
	}
	w.want(<-last, policy.Accept)
	return repo
}

// While an author with many events is removed, every batch takes a small step and what clients send; a stop in the middle
// does not wait for the rest, and the next start goes on.
func TestALargeAuthorVanishesInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &toll{gate: make(chan struct{})}
		w := newWorld(t, setup{config: ingest.Config{Workers: 2}, opt: store.Options{FreeSpace: x.free}})
		repo, c := w.fill(2000), w.client()
		synctest.Wait()
		x.on.Store(true)
		done := w.submit(c, vanish(1, time.Now()), store.Direct)
		synctest.Wait()
		x.batch()
		w.want(<-done, policy.Accept)
		for i := range 5 {
			before := w.store.Stats().Events
			done := w.submit(c, issue(3, repo, time.Now(), fmt.Sprint("between ", i)), store.Direct)
			synctest.Wait()
			x.batch()
			select {
			case v := <-done:
				w.want(v, policy.Accept)
			default:
				t.Fatal("a client's event is not in the batch of a step")
			}
			if gone := before + 1 - w.store.Stats().Events; gone > 250 || gone < 1 {
				t.Errorf("%d events went in one batch", gone)
			}
		}
		go w.end()
		synctest.Wait()
		close(x.gate)
		w.end()
		w = newWorld(t, setup{fs: w.fs, idle: true})
		defer w.end()
		if n := w.store.Stats().Events; n < 500 {
			t.Fatalf("the stop waited until %d events were left", n)
		}
		w.check()
		w.run()
		time.Sleep(time.Second)
		if n := w.store.Stats().Events; n != 1+1+5 {
			t.Errorf("%d events are left", n)
		}
		w.check()
	})
}

// A disk that is full in the middle of a removal stops it, and it goes on when there is room again.
func TestVanishingOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		x := &toll{gate: make(chan struct{})}
		w := newWorld(t, setup{opt: store.Options{Floor: 1 << 20, FreeSpace: func() (uint64, error) {
			if n, err := x.free(); !full.Load() {
				return n, err
			}
			return 0, nil
		}}})
		defer w.end()
		w.fill(1000)
		synctest.Wait()
		x.on.Store(true)
		done := w.submit(w.peer("a"), vanish(1, time.Now()), store.Catchup)
		synctest.Wait()
		x.batch()
		x.batch()
		w.want(<-done, policy.Accept)
		left := w.store.Stats().Events
		full.Store(true)
		x.on.Store(false)
		x.gate <- struct{}{}
		time.Sleep(10 * time.Second)
		if n := w.store.Stats().Events; n != left || n < 100 {
			t.Fatalf("%d events are left on a full disk, %d before", n, left)
		}
		full.Store(false)
		time.Sleep(10 * time.Second)
		if n := w.store.Stats().Events; n != 2 {
			t.Errorf("%d events are left", n)
		}
		w.check()
	})
}
