package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// works has the writer do work, and gives the channel on which the end comes. In a bubble the work waits for the writer when works returns.
func (w *world) works(do func(*ingest.Exclusive) error) <-chan error {
	c := make(chan error, 1)
	go func() { c <- w.door.Exclusively(w.Context(), "", do) }()
	synctest.Wait()
	return c
}

// occupied has the writer at work until release, so that what comes meanwhile is there together.
func (w *world) occupied() (release func()) {
	over := make(chan struct{})
	done := w.works(func(*ingest.Exclusive) error { <-over; return nil })
	return func() {
		close(over)
		if err := <-done; err != nil {
			w.Error(err)
		}
	}
}

// sets is work that writes a row.
func sets(name string) func(*ingest.Exclusive) error {
	return func(t *ingest.Exclusive) error { return t.SetRow("test/"+name, []byte(name)) }
}

// has reports whether a row is durable.
func (w *world) has(name string) bool {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	row, err := v.Row("test/" + name)
	if err != nil {
		w.Fatal(err)
	}
	return row != nil
}

func (w *world) commits() uint64 { return w.door.Stats().Commits }

// TestWorkSharesACommit with other work and with the events of clients that are there when it is done.
func TestWorkSharesACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(w.client(), repo), policy.Accept)
		before, release := w.commits(), w.occupied()
		var ends []<-chan error
		var verdicts []<-chan policy.Verdict
		for i := range 5 {
			ends = append(ends, w.works(sets(fmt.Sprint(i))))
			verdicts = append(verdicts, w.submit(w.client(), issue(2, repo, time.Now(), fmt.Sprint(i)), store.Direct))
		}
		synctest.Wait()
		release()
		for i, c := range ends {
			if err := <-c; err != nil || !w.has(fmt.Sprint(i)) {
				t.Errorf("%d: %v", i, err)
			}
		}
		for _, c := range verdicts {
			w.want(<-c, policy.Accept)
		}
		if n := w.commits() - before; n != 1 {
			t.Errorf("%d commits", n)
		}
		start := time.Now()
		if err := <-w.works(sets("alone")); err != nil || w.commits()-before != 2 || time.Since(start) != 0 {
			t.Errorf("alone: %v, %d commits, after %v", err, w.commits()-before, time.Since(start))
		}
	})
}

// TestWorkThatOnlyReads costs no commit. But what it tells may rest on what is not durable yet, and then its end waits until that is.
func TestWorkThatOnlyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, release := newBusyWorld(t, ingest.Limits{})
		defer w.end()
		defer release()
		before := w.commits()
		if err := <-w.works(func(*ingest.Exclusive) error { return nil }); err != nil || w.commits() != before {
			t.Errorf("%v, %d commits", err, w.commits()-before)
		}
		e := announcement(1, "tool", time.Now())
		heard := w.submit(w.peer("a"), e, store.Live)
		synctest.Wait()
		saw, start := false, time.Now()
		reads := w.works(func(t *ingest.Exclusive) (err error) {
			if w.get(e.ID) != nil {
				w.Error("it is durable before")
			}
			saw, err = t.Has(e.ID)
			return err
		})
		if err := <-reads; err != nil || !saw || w.get(e.ID) == nil || w.commits() != before+1 || time.Since(start) != 0 {
			t.Errorf("%v, saw it: %v, durable: %v, %d commits, after %v", err, saw, w.get(e.ID) != nil, w.commits()-before, time.Since(start))
		}
		w.want(<-heard, policy.Accept)
		free := w.occupied()
		reads = w.works(func(*ingest.Exclusive) error { return nil })
		writes := w.works(func(t *ingest.Exclusive) error { time.Sleep(time.Millisecond); return sets("behind")(t) })
		free()
		if err := <-reads; err != nil || time.Since(start) != 0 {
			t.Errorf("%v, and it has waited %v for work behind it", err, time.Since(start))
		}
		if err := <-writes; err != nil {
			t.Error(err)
		}
	})
}

var errBroken = errors.New("broken")

// TestWorkThatFailsLeavesNoTrace: what is before and behind it in the batch stands, and is done again only where the work had left something.
func TestWorkThatFailsLeavesNoTrace(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails func(*ingest.Exclusive) error
		times int // the others are done
		left  bool
	}{
		{"before it has written", func(*ingest.Exclusive) error { return errBroken }, 1, false},
		{"after it has written", func(t *ingest.Exclusive) error { return errors.Join(sets("fails")(t), errBroken) }, 2, false},
		{"over an event, before", func() func(t *ingest.Exclusive) error {
			return func(t *ingest.Exclusive) error { return errors.Join(t.Serve([]nostr.ID{{7}}), sets("fails")(t)) }
		}(), 2, true},
		{"over an event, first", func(t *ingest.Exclusive) error {
			if err := t.Serve([]nostr.ID{{7}}); err != nil {
				return err
			}
			return sets("fails")(t)
		}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newHost(t, setup{})
				defer w.end()
				repo := hostedBy(t, 1, "tool", time.Now())
				w.want(w.publish(w.client(), repo), policy.Wait)
				before, release := w.commits(), w.occupied()
				first := w.submit(w.client(), hostedBy(t, 2, "first", time.Now()), store.Direct)
				times := 0
				counted := func(t *ingest.Exclusive) error { times++; return sets("before")(t) }
				ends := []<-chan error{w.works(counted), w.works(c.fails), w.works(sets("behind"))}
				last := w.submit(w.client(), hostedBy(t, 3, "last", time.Now()), store.Direct)
				synctest.Wait()
				release()
				for i, end := range ends {
					if err := <-end; errors.Is(err, errBroken) != (i == 1 && !c.left) || err != nil && i != 1 {
						t.Errorf("%d: %v", i, err)
					}
				}
				w.want(<-first, policy.Wait)
				w.want(<-last, policy.Wait)
				if !w.has("before") || !w.has("behind") || w.has("fails") != c.left || times != c.times {
					t.Errorf("before %v, behind %v, fails %v; the first was done %d times", w.has("before"), w.has("behind"), w.has("fails"), times)
				}
				if s := w.door.Stats(); s.Commits-before > 2 || s.Failures != 0 || s.Faults != map[bool]uint64{true: 1}[c.left] {
					t.Errorf("%d commits, %d failures, %d faults", s.Commits-before, s.Failures, s.Faults)
				}
			})
		})
	}
}

// TestWorkOfABatchThatFails hears that nothing of it has happened, and nothing is left of it in memory.
func TestWorkOfABatchThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var on atomic.Bool
		h := newHost(t, setup{opt: store.Options{FreeSpace: fullAtCommit(&on)}})
		defer h.end()
		repo := hostedBy(t, 1, "tool", time.Now())
		h.want(h.publish(h.client(), repo), policy.Wait)
		pr := pullRequest(2, time.Now(), 3, repo)
		release := h.occupied()
		heard := h.submit(h.client(), hostedBy(t, 2, "other", time.Now()), store.Direct)
		var opened refdb.Opened
		opens := func(t *ingest.Exclusive) (err error) {
			p := refs.Push{Commands: []gitwire.Command{command(refs.TipName(pr.ID), 0, 3)}, From: refs.From{Address: "198.51.100.7"}}
			opened, err = h.ledger.Open(t.Turn, addressOf(repo), p)
			return err
		}
		ends := []<-chan error{h.works(sets("one")), h.works(opens), h.works(sets("two"))}
		synctest.Wait()
		on.Store(true)
		release()
		for i, end := range ends {
			if err := <-end; !errors.Is(err, store.ErrFull) {
				t.Errorf("%d: %v", i, err)
			}
		}
		h.want(<-heard, policy.Failed)
		on.Store(false)
		uploads := 0
		if err := <-h.works(func(*ingest.Exclusive) error { uploads, _ = h.ledger.Uploads(); return nil }); err != nil || uploads != 0 {
			t.Errorf("%v, %d uploads are under way", err, uploads)
		}
		if h.has("one") || h.has("two") || len(opened.Uploads) != 1 {
			t.Errorf("something was written, or %+v", opened.Verdict)
		}
		if err := <-h.works(sets("one")); err != nil || !h.has("one") {
			t.Error(err)
		}
	})
}

// TestWorkSeesEverythingAsAfterACommit: refs and announcements are in line with what was decided just before it.
func TestWorkSeesEverythingAsAfterACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(t, setup{})
		defer f.end()
		now := time.Now()
		repo := f.hosts(1, "tool", now)
		invited := f.hosts(2, "tool", now)
		of := addressOf(repo)
		f.want(f.publish(f.client(), deletion(1, now, repo)), policy.Accept)
		if f.repository(of).Gone == 0 {
			t.Fatal("the repository is not gone")
		}
		time.Sleep(time.Hour)
		release := f.occupied()
		heard := f.submit(f.client(), hostedBy(t, 1, "tool", time.Now()), store.Direct)
		next := f.submit(f.client(), stateOf(2, "tool", now.Add(time.Second), "main=1 dev=1"), store.Direct)
		synctest.Wait()
		removed, before := false, f.repository(addressOf(invited)).Refs.Generation
		removes := f.works(func(t *ingest.Exclusive) (err error) {
			if _, removed, err = f.ledger.Remove(t.Turn, of, time.Now().Unix()); err != nil {
				return err
			}
			r, err := refdb.Read(t, addressOf(invited))
			if r.Refs.Generation != before+1 || f.repository(addressOf(invited)).Refs.Generation != before {
				f.Errorf("work sees generation %d, and %d is durable", r.Refs.Generation, before)
			}
			return err
		})
		release()
		if err := <-removes; err != nil || removed {
			t.Errorf("%v; a repository is removed that was announced again: %v", err, removed)
		}
		f.want(<-heard, policy.Accept)
		f.want(<-next, policy.Accept)
		if r := f.repository(of); r.Dir.IsZero() || r.Gone != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// TestWorkEndsABatchByTime: whoever is in the batch waits for little work behind theirs, and for none that takes long.
func TestWorkEndsABatchByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		release := w.occupied()
		heard := w.submit(w.client(), announcement(1, "tool", time.Now()), store.Direct)
		synctest.Wait()
		var ends []<-chan error
		for i := range 20 {
			ends = append(ends, w.works(func(t *ingest.Exclusive) error {
				time.Sleep(3 * time.Millisecond)
				return sets(fmt.Sprint(i))(t)
			}))
		}
		start, before := time.Now(), w.commits()
		release()
		w.want(<-heard, policy.Accept)
		if d := time.Since(start); d > 23*time.Millisecond {
			t.Errorf("an event waits %v for work", d)
		}
		for _, end := range ends {
			if err := <-end; err != nil {
				t.Error(err)
			}
		}
		if n := w.commits() - before; n < 3 || n > 4 {
			t.Errorf("%d commits", n)
		}
		release = w.occupied()
		long := make(chan error, 2)
		for range 2 {
			go func() {
				long <- w.door.AtLength(t.Context(), "", func(t *ingest.Exclusive) error { time.Sleep(time.Second); return sets("long")(t) })
			}()
		}
		short := w.works(sets("short"))
		start = time.Now()
		release()
		for i, end := range []<-chan error{long, short, long} {
			if err := <-end; err != nil || time.Since(start) != time.Duration(1+i/2)*time.Second {
				t.Errorf("%d: %v after %v", i, err, time.Since(start))
			}
		}
	})
}

// TestRelaysBesideWork have a part of the writer while work goes on, and work waits for a part of theirs.
func TestRelaysBesideWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(w.client(), repo), policy.Accept)
		release := w.occupied()
		for p := range 3 {
			for i := range 500 {
				w.submit(w.peer(fmt.Sprint(p)), issue(2+p, repo, time.Now(), fmt.Sprint(i)), store.Catchup)
			}
		}
		var ends []<-chan error
		for i := range 10 {
			ends = append(ends, w.works(sets(fmt.Sprint(i))))
		}
		release()
		for i, end := range ends {
			if err := <-end; err != nil {
				t.Error(err)
			}
			if n := w.door.Stats().Decided[store.Catchup][policy.Accept]; i == 9 && (n < 64 || n > 11*64) {
				t.Errorf("%d events of relays beside work", n)
			}
		}
	})
}

// TestWorkEndsWithTheDoor: what is in the open batch when the door closes is durable, or hears that it is not.
func TestWorkEndsWithTheDoor(t *testing.T) {
	for _, fails := range []error{nil, errBroken} {
		for _, drain := range []time.Duration{time.Second, time.Nanosecond} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, setup{config: ingest.Config{Limits: ingest.Limits{DrainTime: drain}}})
				release := w.occupied()
				var ends []<-chan error
				for i := range 4 {
					ends = append(ends, w.works(func(t *ingest.Exclusive) error {
						if i != 1 {
							return sets(fmt.Sprint(i))(t)
						}
						time.Sleep(2 * time.Millisecond) // the door closes meanwhile
						return errors.Join(sets("1")(t), fails)
					}))
				}
				release()
				time.Sleep(time.Millisecond)
				w.end()
				w = newWorld(t, setup{fs: w.fs})
				defer w.end()
				for i, end := range ends {
					err, want := <-end, error(nil)
					switch {
					case i == 1:
						want = fails
					case i > 1:
						want = ingest.ErrStopped
					}
					if !errors.Is(err, want) || (err == nil) != w.has(fmt.Sprint(i)) {
						t.Errorf("%d ends with %v, want %v, and is durable: %v", i, err, want, w.has(fmt.Sprint(i)))
					}
				}
			})
		}
	}
}

// TestWorkIsDoneAnewWithItsBatch: it is done once for everybody who looks, however often the batch fails over something else.
func TestWorkIsDoneAnewWithItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(t, setup{})
		defer f.end()
		now := time.Now()
		repo, odd := f.hosts(1, "tool", now), f.hosts(2, "odd", now)
		f.damage(addressOf(odd), []byte("nonsense"))
		release := f.occupied()
		var ends []<-chan error
		var heard []<-chan policy.Verdict
		for i := range 8 {
			ends = append(ends, f.works(counts))
			e := issue(3, repo, now, fmt.Sprint(i))
			if i == 4 {
				e = hostedBy(t, 2, "odd", now.Add(time.Second))
			}
			heard = append(heard, f.submit(f.client(), e, store.Direct))
		}
		bad := f.works(func(t *ingest.Exclusive) error { return errors.Join(counts(t), t.Remove(odd.ID, store.ReasonBarred)) })
		synctest.Wait()
		release()
		for _, end := range ends {
			if err := <-end; err != nil {
				t.Error(err)
			}
		}
		for i, c := range heard {
			f.want(<-c, map[bool]policy.Outcome{true: policy.Failed, false: policy.Accept}[i == 4])
		}
		if err := <-bad; err == nil {
			t.Error("work that cannot be settled succeeds")
		}
		if n := f.counted(); n != len(ends) {
			t.Errorf("%d were counted of %d", n, len(ends))
		}
		f.served(odd)
		f.leaves(2)
	})
}

// counts is work that adds one to a row.
func counts(t *ingest.Exclusive) error {
	row, err := t.Row("test/count")
	if err != nil {
		return err
	}
	return t.SetRow("test/count", append(slices.Clone(row), 1))
}

// counted is what counts has come to.
func (w *world) counted() int {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	row, err := v.Row("test/count")
	if err != nil {
		w.Fatal(err)
	}
	return len(row)
}

// TestWorkThatWasGivenUp before the writer had it is not done; later it is, and who asked for it hears how it ends.
func TestWorkThatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{fs: slowSync(10 * time.Millisecond)})
		defer w.end()
		release := w.occupied()
		gives := func(after time.Duration, name string) <-chan error {
			ctx, end := context.WithTimeout(t.Context(), after)
			c := make(chan error, 1)
			go func() { defer end(); c <- w.door.Exclusively(ctx, "", sets(name)) }()
			synctest.Wait()
			return c
		}
		early, late := gives(time.Millisecond, "early"), gives(6*time.Millisecond, "late")
		time.Sleep(5 * time.Millisecond)
		release()
		if err := <-early; !errors.Is(err, context.DeadlineExceeded) || w.has("early") {
			t.Errorf("early: %v", err)
		}
		if err := <-late; err != nil || !w.has("late") {
			t.Errorf("late: %v", err)
		}
	})
}
