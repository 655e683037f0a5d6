package ingest_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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

// slowSync is a disk in memory that takes that long for every sync of the log.
func slowSync(d time.Duration) vfs.FS { return slowSyncOf(vfs.NewMem(), d) }

func slowSyncOf(fs vfs.FS, d time.Duration) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo {
			time.Sleep(d)
		}
		return nil
	}))
}

// flood submits n events as fast as they are taken, and closes the channel when the last one is answered.
func (w *world) flood(s *ingest.Source, n int, nth func(i int) *nostr.Event, from store.Source) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		left := n
		for i := range n {
			if err := s.Submit(w.Context(), nth(i), from, func(policy.Verdict) {
				if left--; left == 0 {
					close(done)
				}
			}); err != nil {
				w.Errorf("flood: %v", err)
				return
			}
		}
	}()
	return done
}

// A burst from one relay does not delay a client by more than a batch and its sync, nor other relays, and loses nothing.
func TestABurstFromOneRelayDelaysNobody(t *testing.T) {
	n := scaled(10_000, 3_000)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{fs: slowSync(5 * time.Millisecond), config: ingest.Config{Workers: 2}})
		defer w.end()
		w.verifier.Delay = 150 * time.Microsecond
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(w.client(), repo), policy.Accept)
		at := time.Now()
		burst := w.flood(w.peer("burst"), n, func(i int) *nostr.Event {
			return issue(2, repo, at, fmt.Sprint("burst ", i))
		}, store.Catchup)
		client, other := w.client(), w.peer("other")
		var slowest, live time.Duration
		published := 0
		for over := false; !over; {
			select {
			case <-burst:
				over = true
			case <-time.After(3 * time.Millisecond):
			}
			start := time.Now()
			w.want(w.publish(client, issue(3, repo, at, fmt.Sprint("client ", published))), policy.Accept)
			slowest = max(slowest, time.Since(start))
			start = time.Now()
			w.want(<-w.submit(other, issue(4, repo, at, fmt.Sprint("live ", published)), store.Live), policy.Accept)
			live = max(live, time.Since(start))
			published++
		}
		if published < 5 {
			t.Fatalf("the burst was over after %d publishes", published)
		}
		if slowest > 50*time.Millisecond {
			t.Errorf("a client waited %v", slowest)
		}
		if live > 150*time.Millisecond {
			t.Errorf("another relay's live event waited %v", live)
		}
		if got, want := w.door.Stats().Decided[store.Catchup][policy.Accept], uint64(n); got != want {
			t.Errorf("%d events of the burst were accepted, want %d", got, want)
		}
	})
}

// Direct sources go first, and while they want every turn, one in eight is for sync.
func TestOneTurnInEightIsForSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{idle: true, config: ingest.Config{Workers: 1}})
		var order []store.Source
		sources := map[nostr.ID]store.Source{}
		w.verifier.Gate = func(id nostr.ID, _ nostr.Sig) { order = append(order, sources[id]) }
		fill := func(s *ingest.Source, n int, from store.Source, author int) {
			for i := range n {
				e := event(author, time.Now(), nostr.KindNote, fmt.Sprint(i))
				sources[e.ID] = from
				w.submit(s, e, from)
			}
		}
		fill(w.peer("a"), 100, store.Live, 1)
		fill(w.peer("b"), 100, store.Daily, 2)
		fill(w.client(), 350, store.Direct, 3)
		fill(w.client(), 350, store.Direct, 4)
		w.run()
		synctest.Wait()
		w.end()
		count := map[store.Source]int{}
		for i, from := range order[:400] {
			count[from]++
			if i == 0 && from != store.Direct {
				t.Error("the first turn was not a client's")
			}
		}
		if d := count[store.Direct]; d != 350 {
			t.Errorf("%d of the first 400 turns were clients', want 350", d)
		}
		if a, b := count[store.Live], count[store.Daily]; a != 25 || b != 25 {
			t.Errorf("relays had %d and %d turns, want 25 each", a, b)
		}
	})
}

func TestOneSourceUsesEveryCore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 8
		w := newWorld(t, setup{config: ingest.Config{Workers: workers}})
		defer w.end()
		var now, most atomic.Int64
		w.verifier.Gate = func(nostr.ID, nostr.Sig) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
		}
		s := w.peer("a")
		var last <-chan policy.Verdict
		for i := range 80 {
			last = w.submit(s, event(1, time.Now(), nostr.KindNote, fmt.Sprint(i)), store.Catchup)
		}
		<-last
		if most.Load() != workers {
			t.Errorf("%d verifiers worked at once, want %d", most.Load(), workers)
		}
	})
}

// A relay whose copies never get through the verifiers holds up neither the others nor the writer.
func TestASlowSourceHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{config: ingest.Config{Workers: 2}})
		release := make(chan struct{})
		slow := event(9, time.Now(), nostr.KindNote, "slow")
		w.verifier.Gate = func(id nostr.ID, _ nostr.Sig) {
			if id == slow.ID {
				<-release
			}
		}
		stuck := w.submit(w.peer("slow"), slow, store.Catchup)
		for i := range 10 {
			w.want(w.fetch(w.peer("other"), announcement(i, "tool", time.Now())), policy.Accept)
		}
		close(release)
		w.want(<-stuck, policy.Unrelated)
		w.end()
	})
}

// Batches are large under load, so that a burst shares its syncs, and smaller where events are large: they are kept in memory
// twice.
func TestABurstSharesItsSyncs(t *testing.T) {
	for _, tt := range []struct {
		events, bytes int
		least, most   uint64 // commits
	}{
		{1000, 0, 2, 4},
		{200, 20_000, 5, 12},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, setup{config: ingest.Config{Limits: ingest.Limits{QueueBytes: 64 << 20}}})
			defer w.end()
			repo := announcement(1, "tool", time.Now())
			w.want(w.publish(w.client(), repo), policy.Accept)
			for i := range 5 { // so that there are no commits left that a rest before allows for
				w.want(w.publish(w.client(), announcement(10+i, "other", time.Now())), policy.Accept)
			}
			at, before, text := time.Now(), w.door.Stats().Commits, strings.Repeat("x", tt.bytes)
			<-w.flood(w.peer("a"), tt.events, func(i int) *nostr.Event { return issue(2, repo, at, fmt.Sprint(i, text)) }, store.Catchup)
			if n := w.door.Stats().Commits - before; n < tt.least || n > tt.most {
				t.Errorf("%d events of %d bytes took %d commits, want %d to %d", tt.events, tt.bytes, n, tt.least, tt.most)
			}
		})
	}
}

// A client's event closes the batch: what relays have ready is left for the next one.
func TestRelaysDoNotJoinAClientsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{fs: slowSync(100 * time.Millisecond), config: ingest.Config{Workers: 2}})
		defer w.end()
		c, p, now := w.client(), w.peer("a"), time.Now()
		repo := announcement(1, "tool", now)
		first := w.submit(c, repo, store.Direct)
		time.Sleep(time.Millisecond) // its commit is under way
		var relayed []<-chan policy.Verdict
		for i := range 300 {
			relayed = append(relayed, w.submit(p, issue(2, repo, now, fmt.Sprint(i)), store.Catchup))
		}
		second := w.submit(c, issue(3, repo, now, "client"), store.Direct)
		w.want(<-first, policy.Accept)
		w.want(<-second, policy.Accept)
		if n := w.door.Stats().Decided[store.Catchup][policy.Accept]; n > 5 {
			t.Errorf("%d events of a relay were in the client's batch", n)
		}
		for _, c := range relayed {
			w.want(<-c, policy.Accept)
		}
	})
}

// While more is on its way, a batch is committed when it has as many decisions as it may have, and not before its time
// with fewer.
func TestABatchEndsBySizeOrTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, release := newBusyWorld(t, ingest.Limits{BatchEvents: 10})
		defer w.end()
		defer release()
		p, now, author := w.peer("a"), time.Now(), 0
		for _, step := range []struct {
			submit, stored int64
			wait           time.Duration
		}{
			{7, 0, 0}, {7, 10, 0}, {0, 10, 49 * time.Millisecond}, {0, 14, 2 * time.Millisecond},
			{1, 14, 49 * time.Millisecond}, {1, 16, 2 * time.Millisecond},
		} {
			for range step.submit {
				author++
				w.submit(p, announcement(author, "tool", now), store.Live)
			}
			time.Sleep(step.wait)
			synctest.Wait()
			if n := w.store.Stats().Events; n != step.stored {
				t.Fatalf("%d events are stored, want %d", n, step.stored)
			}
		}
	})
}

// newBusyWorld is a world in which one event is being verified until release.
func newBusyWorld(t *testing.T, l ingest.Limits) (w *world, release func()) {
	slow, over := announcement(99, "slow", time.Now()), make(chan struct{})
	v := &marked{Gate: func(id nostr.ID, _ nostr.Sig) {
		if id == slow.ID {
			<-over
		}
	}}
	w = newWorld(t, setup{config: ingest.Config{Verifier: v, Workers: 2, Limits: l}})
	w.submit(w.peer("slow"), slow, store.Live)
	return w, func() { close(over) }
}

// Where nothing more is on its way nothing is waited for, but commits are not made one after the other for a trickle.
func TestAnEventOnItsOwnWaitsForNoCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		p, start := w.peer("a"), time.Now()
		w.want(<-w.submit(p, announcement(0, "tool", start), store.Live), policy.Accept)
		if d := time.Since(start); d != 0 {
			t.Errorf("the first event waited %v", d)
		}
		for i := range 3 {
			time.Sleep(20 * time.Millisecond)
			for k := range 5 {
				time.Sleep(time.Millisecond)
				start := time.Now()
				w.want(<-w.submit(p, announcement(2000+5*i+k, "tool", start), store.Live), policy.Accept)
				if d := time.Since(start); d != 0 {
					t.Errorf("an event that came close to another waited %v", d)
				}
			}
		}
		const trickle = 1000
		for i := range trickle {
			last := w.submit(p, announcement(1+i, "tool", start), store.Live)
			time.Sleep(time.Millisecond)
			if i%100 == 99 {
				submitted := time.Now()
				w.want(<-last, policy.Accept)
				if d := time.Since(submitted); d > 5*time.Millisecond {
					t.Errorf("event %d waited %v", i, d)
				}
			}
		}
		if n, most := w.door.Stats().Commits, uint64(trickle/5+20); n > most {
			t.Errorf("%d commits for one event a millisecond, want %d at most", n, most)
		}
		c := w.client()
		for i := range 100 { // each has a commit of its own
			w.want(w.publish(c, announcement(3000+i, "tool", time.Now())), policy.Accept)
		}
		start = time.Now()
		w.want(<-w.submit(p, announcement(3100, "tool", start), store.Live), policy.Accept)
		if d := time.Since(start); d > 5*time.Millisecond {
			t.Errorf("after events of a client the next one of a relay waited %v", d)
		}
	})
}

// Where deciding is slow, a batch that a client waits for ends by time, and those that are ready wait for the next.
func TestSlowDecisionsEndABatchByTime(t *testing.T) {
	for _, c := range []struct {
		name   string
		direct bool
		limit  time.Duration
	}{{"clients", true, 30 * time.Millisecond}, {"a relay", false, 60 * time.Millisecond}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := func() time.Time {
					time.Sleep(5 * time.Millisecond)
					return time.Now()
				}
				w := newWorld(t, setup{idle: true, config: ingest.Config{Now: slow}})
				s := w.door.Source(ingest.SourceConfig{Direct: c.direct})
				var first, last <-chan policy.Verdict
				for i := range 100 {
					last = w.submit(s, announcement(i, "tool", time.Now()), store.Live)
					if i == 0 {
						first = last
					}
				}
				start := time.Now()
				w.run()
				defer w.end()
				<-first
				if d := time.Since(start); d > c.limit {
					t.Errorf("the first one waited %v", d)
				}
				<-last
				if n := w.door.Stats().Commits; n > 30 {
					t.Errorf("100 events took %d commits", n)
				}
			})
		})
	}
}

// Whose events took long lets others go first, however many such parties there are.
func TestWhoseEventsTakeLongLetsOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		w := newWorld(t, setup{opt: store.Options{Now: func() time.Time {
			if slow.Load() {
				time.Sleep(5 * time.Millisecond)
			}
			return time.Now()
		}}})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(w.client(), repo), policy.Accept)
		long := []*ingest.Source{w.client(), w.client(), w.client()}
		slow.Store(true)
		for i, s := range long {
			w.want(w.publish(s, issue(2, repo, time.Now(), fmt.Sprint("long ", i))), policy.Accept)
		}
		slow.Store(false)
		var order []string
		err := w.door.Exclusively(t.Context(), "", func(*ingest.Exclusive) error {
			for i, s := range append(long, w.client()) {
				e := issue(3, repo, time.Now(), fmt.Sprint(i))
				if err := s.Submit(t.Context(), e, store.Direct, func(policy.Verdict) { order = append(order, e.Content) }); err != nil {
					return err
				}
				time.Sleep(time.Millisecond) // it is verified, and waits for the writer
			}
			return nil
		})
		synctest.Wait()
		if got := strings.Join(order, " "); err != nil || got != "3 0 1 2" {
			t.Errorf("the order was %s (%v)", got, err)
		}
	})
}

// Whose exclusive work took long lets others go first.
func TestWhoseWorkTakesLongLetsOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		var order []string
		var all sync.WaitGroup
		work := func(party string, takes time.Duration) {
			all.Go(func() {
				if err := w.door.Exclusively(t.Context(), party, func(*ingest.Exclusive) error {
					order = append(order, party)
					time.Sleep(takes)
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		for range 2 {
			for _, party := range []string{"a", "b", "c"} {
				work(party, 5*time.Millisecond)
			}
		}
		time.Sleep(11 * time.Millisecond) // the third is at work
		work("d", 0)
		all.Wait()
		if got := strings.Join(order, " "); got != "a b c d a b c" {
			t.Errorf("the order was %s", got)
		}
	})
}
