package ingest_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// A full disk is said to everybody in the batch, changes nothing, and ends when there is room again.
func TestStorageFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Uint64
		free.Store(1 << 40)
		var log bytes.Buffer
		w := newWorld(t, setup{
			opt:    store.Options{FreeSpace: func() (uint64, error) { return free.Load(), nil }},
			config: ingest.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))},
		})
		defer w.end()
		c, p, now := w.client(), w.peer("a"), time.Now()
		repo := announcement(1, "tool", now)
		w.want(w.publish(c, repo), policy.Accept)
		bug, reply := issue(2, repo, now, "bug"), comment(3, issue(2, repo, now, "bug"), now, "yes")
		head := w.store.Head()

		free.Store(1 << 10)
		for range 3 {
			for _, v := range []policy.Verdict{w.publish(c, bug), w.fetch(p, bug), w.publish(c, reply)} {
				if v.OK() || v.Reason != "error: storage full" || v.Outcome != policy.Failed {
					t.Errorf("verdict is %s %q", v.Outcome, v.Reason)
				}
			}
		}
		w.want(w.publish(c, repo), policy.Duplicate) // what is durable is still known
		if w.store.Head() != head || w.known(bug).State != store.Unknown || w.known(reply).State != store.Unknown {
			t.Error("something was changed")
		}
		if n := w.door.Stats().Orphans; n != 0 {
			t.Errorf("%d orphans are held of events that nobody decided", n)
		}

		free.Store(1 << 40)
		w.want(w.publish(c, reply), policy.Unrelated)
		w.want(w.fetch(p, bug), policy.Accept)
		time.Sleep(5 * time.Second)
		if w.get(reply.ID) == nil {
			t.Error("the orphan was not accepted")
		}
		w.end()
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("%d lines were logged, want one for the failure and one for its end:\n%s", n, log.String())
		}
	})
}

// Orphans whose acceptance could not be committed are orphans still, and decided again when there is room.
func TestOrphansOutliveAFailedCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 300
		var asked, failAt atomic.Int64
		failAt.Store(-1)
		w := newWorld(t, setup{opt: store.Options{FreeSpace: func() (uint64, error) {
			if f := failAt.Load(); f >= 0 && asked.Add(1) > f {
				return 0, nil
			}
			return 1 << 40, nil
		}}})
		defer w.end()
		now := time.Now()
		repo := announcement(1, "tool", now)
		p := w.peer("a")
		for i := range n {
			w.submit(p, issue(2, repo, now, fmt.Sprint(i)), store.Catchup)
		}
		time.Sleep(time.Second)
		failAt.Store(3) // the announcement's batch has room, the next has not
		w.want(w.publish(w.client(), repo), policy.Accept)
		time.Sleep(10 * time.Second)
		if got := len(w.ids()); got >= n {
			t.Fatalf("%d events are stored though the disk is full", got)
		}
		failAt.Store(-1)
		time.Sleep(10 * time.Second)
		if got := len(w.ids()); got != n+1 {
			t.Errorf("%d events are stored, want %d", got, n+1)
		}
	})
}

// fullAtCommit is a disk that has room when a batch is opened and none when it is committed, while the switch is on.
func fullAtCommit(on *atomic.Bool) func() (uint64, error) {
	opening := false // asked by the writer only
	return func() (uint64, error) {
		if !on.Load() {
			opening = false
			return 1 << 40, nil
		}
		if opening = !opening; opening {
			return 1 << 40, nil
		}
		return 0, nil
	}
}

// What was decided in a batch that could not be committed was not decided: nothing of it is kept in memory either.
func TestNothingIsLeftOfAFailedBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var on atomic.Bool
		w := newWorld(t, setup{opt: store.Options{FreeSpace: fullAtCommit(&on)}})
		defer w.end()
		c, p, now := w.client(), w.peer("a"), time.Now()
		repo := announcement(1, "tool", now)
		bug := issue(2, repo, now, "bug")
		on.Store(true)
		first := w.submit(p, bug, store.Live)
		second := w.submit(p, event(3, now, nostr.KindNote, "other"), store.Live)
		forged := w.submit(p, missigned(repo), store.Live)
		w.want(<-first, policy.Failed)
		w.want(<-second, policy.Failed)
		w.want(<-forged, policy.Invalid) // which is true all the same
		w.want(w.publish(c, repo), policy.Failed)
		// One batch or two for what the peer sent, and one for the announcement.
		if s := w.door.Stats(); s.Orphans != 0 || s.Failures < 2 || s.Failures > 3 {
			t.Errorf("%d orphans are held after %d failures", s.Orphans, s.Failures)
		}
		on.Store(false)
		w.want(w.publish(c, repo), policy.Accept)
		time.Sleep(5 * time.Second)
		if w.get(bug.ID) != nil {
			t.Error("an event was stored whose sender heard that it was not")
		}
		w.want(w.fetch(p, bug), policy.Accept)
		if n := w.verifier.checks(bug.ID); n != 2 {
			t.Errorf("verified %d times, want twice", n)
		}
	})
}

// Steps of forgetting that could not be committed are taken again.
func TestForgettingOutlivesAFailedCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var on atomic.Bool
		w := newWorld(t, setup{opt: store.Options{FreeSpace: fullAtCommit(&on)},
			config: ingest.Config{Limits: ingest.Limits{OrphanBytes: 1}}})
		defer w.end()
		repo, now := announcement(1, "tool", time.Now()), time.Now()
		var all []*nostr.Event
		for i := range 350 {
			all = append(all, issue(2, repo, now, fmt.Sprint(i)))
		}
		<-w.flood(w.peer("a"), len(all), func(i int) *nostr.Event { return all[i] }, store.Catchup)
		if err := w.client().Submit(t.Context(), repo, store.Direct, func(v policy.Verdict) {
			w.want(v, policy.Accept)
			on.Store(true)
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if w.door.Stats().Failures == 0 || w.door.Stats().Failures > 11 {
			t.Errorf("%d batches failed, want about one a second", w.door.Stats().Failures)
		}
		on.Store(false)
		time.Sleep(10 * time.Second)
		for i, e := range all {
			if w.known(e).State != store.Unknown {
				t.Fatalf("event %d is still remembered", i)
			}
		}
	})
}

// The last step of a deletion is taken again when the commit of its batch has failed.
func TestAPurgeOutlivesAFailedCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var on atomic.Bool
		w := newWorld(t, setup{opt: store.Options{FreeSpace: fullAtCommit(&on)}})
		defer w.end()
		repo, now := announcement(1, "tool", time.Now()), time.Now()
		last := issue(1, repo, now, "mistake")
		for _, e := range []*nostr.Event{repo, last} {
			w.want(w.publish(w.client(), e), policy.Accept)
		}
		if err := w.client().Submit(t.Context(), naming(1, now, 500, last), store.Direct, func(v policy.Verdict) {
			w.want(v, policy.Accept)
			on.Store(true)
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if n := w.door.Stats().Failures; n == 0 || n > 11 || w.door.Unfinished() != 1 {
			t.Errorf("%d batches failed, %d deletions are under way", n, w.door.Unfinished())
		}
		on.Store(false)
		time.Sleep(10 * time.Second)
		if w.get(last.ID) != nil || w.door.Unfinished() != 0 {
			t.Errorf("the deletion is not done: %d under way", w.door.Unfinished())
		}
	})
}

// A full disk keeps the writer from deleting what expires, and does not keep it busy (a bubble's time would stand still).
func TestAFullDiskKeepsNobodyBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Uint64
		free.Store(1 << 40)
		w := newWorld(t, setup{opt: store.Options{FreeSpace: func() (uint64, error) { return free.Load(), nil }}})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(w.client(), repo), policy.Accept)
		w.want(w.publish(w.client(), expiring(2, repo, time.Now(), 12*time.Minute)), policy.Accept)
		free.Store(0)
		time.Sleep(time.Hour)
		if n := w.store.Stats().Events; n != 2 {
			t.Fatalf("%d events are stored, want 2", n)
		}
		if n := w.door.Stats().Failures; n == 0 || n > 3600 {
			t.Errorf("%d batches failed in an hour", n)
		}
		before := w.door.Stats().Failures
		for range 20 {
			w.want(w.publish(w.client(), issue(3, repo, time.Now(), "more")), policy.Failed)
		}
		if n := w.door.Stats().Failures - before; n > 21 {
			t.Errorf("%d batches failed for 20 events", n)
		}
		free.Store(1 << 40)
		time.Sleep(2 * time.Minute)
		if n := w.store.Stats().Events; n != 1 {
			t.Errorf("%d events are stored, want 1", n)
		}
	})
}

var errDisk = errors.New("injected: the disk failed")

// failing is a disk that fails every write from the moment that the switch is on.
func failing(fs vfs.FS, on *atomic.Bool) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if on.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errDisk
		}
		return nil
	}))
}

// A disk that fails in the middle of load: whoever heard OK before finds his event after a restart, and nobody hears OK
// for an event that is not there.
func TestAFailedCommitNeverYieldsOK(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var on atomic.Bool
		mem := vfs.NewMem()
		w := newWorld(t, setup{fs: failing(mem, &on)})
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(w.client(), repo), policy.Accept)
		// Enough that the storage wants to begin a second log while the disk fails.
		const each = 50
		heard := map[*nostr.Event]policy.Verdict{}
		var last sync.WaitGroup
		for i := range 6 {
			s := w.client()
			if i%2 == 0 {
				s = w.peer(fmt.Sprint(i))
			}
			if i >= 4 {
				on.Store(true)
			}
			for j := range each {
				e := issue(2, repo, time.Now(), fmt.Sprint(i, j))
				last.Add(1)
				if err := s.Submit(t.Context(), e, store.Live, func(v policy.Verdict) {
					heard[e] = v
					last.Done()
				}); err != nil {
					t.Fatal(err)
				}
			}
			if i < 4 {
				last.Wait()
			}
		}
		last.Wait()
		for e, v := range heard {
			if !v.OK() && (v.Outcome != policy.Failed || !strings.HasPrefix(v.Reason, "error: ")) {
				t.Fatalf("verdict is %s %q", v.Outcome, v.Reason)
			}
			if strings.Contains(v.Reason, "injected") {
				t.Errorf("a stranger is told about the disk: %q", v.Reason)
			}
			if v.OK() != (w.get(e.ID) != nil) {
				t.Errorf("OK is %v of an event that is stored: %v", v.OK(), !v.OK())
			}
		}
		w.abandon()
		on.Store(false)
		w = newWorld(t, setup{fs: mem})
		defer w.end()
		oks := 0
		for e, v := range heard {
			if v.OK() {
				oks++
				if w.get(e.ID) == nil {
					t.Error("an event that was answered OK is gone after the restart")
				}
			}
		}
		if oks < 4*each || oks == len(heard) {
			t.Errorf("%d of %d heard OK", oks, len(heard))
		}
	})
}

// A power cut at any moment: everything that was answered OK before is there when the store opens again.
func TestKilledAtAnyMoment(t *testing.T) {
	for n := range scaled(40, 8) {
		synctest.Test(t, func(t *testing.T) {
			disk := vfs.NewCrashableMem()
			w := newWorld(t, setup{fs: disk})
			w.verifier.Delay = 100 * time.Microsecond
			repo := announcement(1, "tool", time.Now())
			var mu sync.Mutex
			var oks []nostr.ID
			publish := func(s *ingest.Source, e *nostr.Event) {
				err := s.Submit(t.Context(), e, store.Direct, func(v policy.Verdict) {
					if v.OK() {
						mu.Lock()
						defer mu.Unlock()
						oks = append(oks, e.ID)
					}
				})
				if err != nil {
					t.Error(err)
				}
			}
			c, p := w.client(), w.peer("a")
			publish(c, repo)
			for i := range 150 {
				publish(p, issue(2, repo, time.Now(), fmt.Sprint("p", i)))
				publish(c, issue(3, repo, time.Now(), fmt.Sprint("c", i)))
			}
			time.Sleep(time.Duration(n) * 711 * time.Microsecond)
			mu.Lock()
			heard := append([]nostr.ID(nil), oks...)
			mu.Unlock()
			after := disk.CrashClone(vfs.CrashCloneCfg{})
			w.end()

			w = newWorld(t, setup{fs: after})
			defer w.end()
			for _, id := range heard {
				if w.get(id) == nil {
					t.Fatalf("one of %d events that were answered OK is gone", len(heard))
				}
			}
		})
	}
}

// A disk that is full for a while, below the floor, or files that are short: within a minute of the end of that events are stored again, whether
// somebody publishes meanwhile or not. Who heard OK finds their event, and nobody else does.
func TestAFailureThatPasses(t *testing.T) {
	for _, busy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var on atomic.Bool
			var log bytes.Buffer
			disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if on.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
					return syscall.ENOSPC
				}
				return nil
			}))
			w := newWorld(t, setup{fs: disk, config: ingest.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}})
			defer w.end()
			repo := announcement(1, "tool", time.Now())
			w.want(w.publish(w.client(), repo), policy.Accept)
			on.Store(true)
			lost := issue(2, repo, time.Now(), "lost")
			w.want(w.publish(w.client(), lost), policy.Failed)
			for i := range 10 * 60 {
				time.Sleep(time.Second)
				if busy {
					w.want(w.publish(w.client(), issue(3, repo, time.Now(), fmt.Sprint(i))), policy.Failed)
				}
			}
			if err := w.store.Failure(); !errors.Is(err, store.ErrPaused) {
				t.Fatalf("after ten minutes: %v", err)
			}
			on.Store(false)
			for range 61 {
				if time.Sleep(time.Second); busy {
					w.publish(w.client(), issue(3, repo, time.Now(), "any"))
				}
			}
			if err := w.store.Failure(); err != nil {
				t.Fatalf("a minute after it: %v", err)
			}
			if w.get(lost.ID) != nil {
				t.Error("an event is there whose sender heard that it is not")
			}
			w.want(w.publish(w.client(), lost), policy.Accept)
			w.end()
			if n := strings.Count(log.String(), "cannot be opened anew yet"); n < 9 || n > 11 {
				t.Errorf("%d tries in ten minutes:\n%s", n, log.String())
			}
			if n := strings.Count(log.String(), "storage was opened anew"); n != 1 {
				t.Errorf("the end was told %d times", n)
			}
		})
	}
}

// TestAFailureThatNobodyMeets: where the disk fails between commits, and nobody publishes, the store is opened anew all the same.
func TestAFailureThatNobodyMeets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var on atomic.Bool
		w := newWorld(t, setup{fs: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if on.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				return syscall.EMFILE
			}
			return nil
		}))})
		defer w.end()
		time.Sleep(time.Hour)
		on.Store(true)
		if err := w.store.KeepNotes(map[string][]byte{"a": nil}, nil); !errors.Is(err, store.ErrPaused) {
			t.Fatal(err)
		}
		on.Store(false)
		time.Sleep(61 * time.Second)
		if err := w.store.Failure(); err != nil {
			t.Error(err)
		}
	})
}
