package ingest_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// naming is a deletion that names so many ids of which nothing is here, and then these events.
func naming(author int, at time.Time, n int, events ...*nostr.Event) *nostr.Event {
	var tags nostr.Tags
	for i := range n {
		tags = append(tags, nostr.Tag{"e", fmt.Sprintf("%08x%056x", at.UnixNano()&0xffffffff, i)})
	}
	for _, e := range events {
		tags = append(tags, nostr.Tag{"e", e.ID.String()})
	}
	return event(author, at, nostr.KindDeletion, "", tags...)
}

// A deletion that names much is answered when a part of it is done; what it names is gone when the rest is, and nothing that it
// names is taken meanwhile.
func TestADeletionThatNamesMuchIsDoneInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		c, p, now := w.client(), w.peer("a"), time.Now()
		repo := announcement(1, "tool", now)
		w.want(w.publish(c, repo), policy.Accept)
		var here, later []*nostr.Event
		for i := range 30 {
			e := issue(1, repo, now, fmt.Sprint(i))
			if i%2 == 0 {
				here = append(here, e)
				w.want(w.publish(c, e), policy.Accept)
			} else {
				later = append(later, e)
			}
		}
		del := naming(1, now, 1500, append(here, later...)...)
		left := false
		if err := c.Submit(t.Context(), del, store.Direct, func(v policy.Verdict) {
			view := w.store.View() // while the writer waits for this reply
			defer view.Close()
			purging, err := view.Purging()
			left = v.OK() && purging && err == nil
		}); err != nil {
			t.Fatal(err)
		}
		for i, e := range later {
			w.want([]func(*ingest.Source, *nostr.Event) policy.Verdict{w.publish, w.fetch}[i%2]([]*ingest.Source{c, p}[i%2], e), policy.Deleted)
		}
		time.Sleep(10 * time.Second)
		if !left {
			t.Error("it was done as a whole before it was answered")
		}
		for _, e := range here {
			if w.get(e.ID) != nil {
				t.Fatal("something that it names is still here")
			}
		}
		for _, e := range append(here, later...) {
			w.want(w.publish(c, e), policy.Deleted)
		}
		w.check()
	})
}

// A deletion of which a part is done goes on where it was after a power cut, and keeps away what it names at once.
func TestADeletionGoesOnAfterAPowerCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewCrashableMem()
		w := newWorld(t, setup{fs: fs})
		c, now := w.client(), time.Now()
		repo := announcement(1, "tool", now)
		w.want(w.publish(c, repo), policy.Accept)
		here, later := issue(1, repo, now, "here"), issue(1, repo, now, "later")
		w.want(w.publish(c, here), policy.Accept)
		del := naming(1, now, 1500, here, later)
		var image *vfs.MemFS
		if err := c.Submit(t.Context(), del, store.Direct, func(policy.Verdict) {
			image = fs.CrashClone(vfs.CrashCloneCfg{}) // nothing that is not synced
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.end()
		again := newWorld(t, setup{fs: image, idle: true})
		defer again.end()
		if again.get(del.ID) == nil || again.get(here.ID) == nil {
			t.Fatal("nothing is left to do")
		}
		again.check()
		verdict := again.submit(again.client(), later, store.Direct)
		again.run()
		again.want(<-verdict, policy.Deleted)
		time.Sleep(10 * time.Second)
		if again.get(here.ID) != nil {
			t.Error("it did not go on")
		}
		again.want(again.publish(again.client(), later), policy.Deleted)
		again.check()
	})
}

// However many deletions come that name much, so many are under way at most; none is lost, small ones do not wait, and the events
// of other clients are decided between the steps.
func TestManyDeletionsThatNameMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		c, now := w.clientAt("a", nil), time.Now()
		repo := announcement(1, "tool", now)
		w.want(w.publish(w.client(), repo), policy.Accept)
		n := int64(scaled(100, 80))
		var done atomic.Int64
		for i := range n {
			if err := c.Submit(t.Context(), naming(1, now.Add(time.Duration(i)), 1700), store.Direct, func(v policy.Verdict) {
				w.want(v, policy.Accept)
				if done.Add(1); w.door.Unfinished() > ingest.MaxUnfinished {
					t.Errorf("%d deletions are under way", w.door.Unfinished())
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		honest := w.client()
		small := issue(1, repo, now, "mistake")
		w.want(w.publish(honest, small), policy.Accept)
		before := done.Load()
		w.want(w.publish(honest, deletion(1, now, small)), policy.Accept)
		if w.get(small.ID) != nil || before == n {
			t.Errorf("a small deletion waited (%d of the others were done)", before)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if done.Load() != n || w.door.Unfinished() != 0 {
			t.Errorf("%d of %d are answered, %d under way", done.Load(), n, w.door.Unfinished())
		}
	})
}

// The whole work of a deletion is charged to who brings it, also what is done later, in steps that are each a commit.
func TestADeletionIsChargedAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		charged := 0
		c := w.clientAt("a", func(steps int) { charged += steps })
		w.want(w.publish(c, announcement(1, "tool", time.Now())), policy.Accept)
		before := w.door.Stats().Commits
		w.want(w.publish(c, naming(1, time.Now(), 1700)), policy.Accept)
		time.Sleep(10 * time.Second)
		if n := w.door.Stats().Commits - before; n < 7 || n > 13 {
			t.Errorf("it took %d commits", n)
		}
		if charged < 1700*8 || charged > 1700*25 {
			t.Errorf("charged %d steps", charged)
		}
	})
}
