package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storecheck"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const day = 24 * 3600

// ageing is a store whose clock is set, with deletions of all sorts in it.
type ageing struct {
	*testing.T
	o   store.Options
	s   *store.Store
	now int64
}

func newAgeing(t *testing.T) *ageing {
	a := &ageing{T: t, now: storetest.Start}
	a.o = store.Options{Dir: "data/store", FS: vfs.NewMem(), Now: func() time.Time { return time.Unix(a.now, 0) }, MaxUnused: 50}
	a.s = open(t, a.o)
	return a
}

func (a *ageing) batch(do func(b *store.Batch) error) {
	a.Helper()
	b, err := a.s.Begin()
	if err != nil {
		a.Fatal(err)
	}
	defer b.Discard()
	if err := do(b); err != nil {
		a.Fatal(err)
	}
	if _, err := b.Commit(); err != nil {
		a.Fatal(err)
	}
}

func (a *ageing) add(events ...*nostr.Event) {
	a.Helper()
	a.batch(func(b *store.Batch) error {
		for _, e := range events {
			if out, err := b.Add(e, store.Direct); err != nil || out != policy.Accept {
				return fmt.Errorf("%v, %w", out, err)
			}
		}
		return nil
	})
}

// age takes all steps that are due.
func (a *ageing) age(atOnce int) (steps int) {
	a.Helper()
	for more := true; more; steps++ {
		a.batch(func(b *store.Batch) error {
			_, n, err := b.AgeDue(time.Unix(a.now, 0), atOnce)
			if more = n == atOnce; err != nil || more {
				return err
			}
			more, err = b.SweepMarks(time.Unix(a.now, 0), atOnce)
			return err
		})
	}
	return steps
}

func (a *ageing) sound() {
	a.Helper()
	v := a.s.View()
	defer v.Close()
	r, err := storecheck.Check(a.Context(), v)
	if err != nil || len(r.Problems) > 0 {
		a.Errorf("%q, %v", r.Problems, err)
	}
}

func (a *ageing) restart() {
	a.Helper()
	if err := a.s.Close(); err != nil {
		a.Fatal(err)
	}
	a.s = open(a.T, a.o)
}

func (a *ageing) states(events ...*nostr.Event) string {
	v := a.s.View()
	defer v.Close()
	out := ""
	for _, e := range events {
		k, err := v.Known(e.ID)
		if err != nil {
			a.Fatal(err)
		}
		out += fmt.Sprint(k.State, " ", k.Why, "; ")
	}
	return out
}

// TestUnusedDeletionsGoInSmallSteps: however many are due, a step is small, what it costs is bounded, and a restart goes on with them.
func TestUnusedDeletionsGoInSmallSteps(t *testing.T) {
	a := newAgeing(t)
	var dels []*nostr.Event
	for i := range int64(40) {
		target := storetest.Event(1, storetest.Start-9, 1, fmt.Sprint(i))
		dels = append(dels, storetest.Deletion(1, storetest.Start+i, nostr.Tag{"e", target.ID.String()}))
	}
	a.add(dels...)
	a.sound()
	if quiet := a.s.UnusedQuietUntil(); quiet > storetest.Start+30*day {
		t.Errorf("quiet until %d", quiet)
	}
	a.age(10) // which finds out when the first is due
	if quiet := a.s.UnusedQuietUntil(); quiet <= a.now || quiet > storetest.Start+30*day {
		t.Errorf("quiet until %d", quiet-storetest.Start)
	}
	a.now += 31 * day
	a.batch(func(b *store.Batch) error {
		_, n, err := b.AgeDue(time.Unix(a.now, 0), 7)
		if n != 7 {
			t.Errorf("%d at once", n)
		}
		return err
	})
	a.restart()
	a.sound()
	if steps := a.age(10); steps < 4 {
		t.Errorf("%d steps", steps)
	}
	a.sound()
	if s := a.s.Stats(); s.Events != 0 || s.Remembered != 40 {
		t.Errorf("%+v", s)
	}
	a.now += 400 * day
	a.age(10)
	a.sound()
	for a.s.Stats().Remembered > 0 {
		a.add(storetest.Event(2, a.now, 1, "time"))
		a.now++
	}
	if left := store.KeysOf(a.s, "dDcUC"); left != 0 {
		t.Errorf("%d keys are left", left)
	}
}

// TestRepairKeepsTheAgeOfDeletions: what has removed something stays, what has not ages as before, and what has aged keeps away.
func TestRepairKeepsTheAgeOfDeletions(t *testing.T) {
	a := newAgeing(t)
	here, absent, former := storetest.Event(1, storetest.Start-9, 1, "here"), storetest.Event(1, storetest.Start-9, 1, "absent"), storetest.Event(1, storetest.Start-9, 1, "former")
	used := storetest.Deletion(1, storetest.Start, nostr.Tag{"e", here.ID.String()})
	unused := storetest.Deletion(1, storetest.Start, nostr.Tag{"e", absent.ID.String()})
	old := storetest.Deletion(1, storetest.Start-60*day, nostr.Tag{"e", former.ID.String()})
	a.add(here, used, unused, old)
	before := a.states(used, unused, old)
	if err := a.s.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := storecheck.Repair(t.Context(), a.o, storecheck.CheckOptions{}); err != nil || len(r.Problems) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	a.s = open(t, a.o)
	a.sound()
	if after := a.states(used, unused, old); after != before {
		t.Errorf("%s, before: %s", after, before)
	}
	a.now += 31 * day
	a.age(10)
	if got, want := a.states(used, unused, old), fmt.Sprintf("%v %v; %v %v; %v %v; ", store.Stored, policy.Accept, store.Remembered, policy.Unused, store.Remembered, policy.Unused); got != want {
		t.Errorf("a month later: %s", got)
	}
	a.now += 140 * day
	a.batch(func(b *store.Batch) error {
		for _, e := range []*nostr.Event{here, absent, former} {
			if out, err := b.Outcome(e); err != nil || out != policy.Deleted {
				t.Errorf("%s: %v, %v", e.Content, out, err)
			}
		}
		return nil
	})
	a.now += 100 * day
	a.age(10)
	a.sound()
	a.batch(func(b *store.Batch) error {
		for e, want := range map[*nostr.Event]policy.Outcome{here: policy.Deleted, absent: policy.Accept, former: policy.Accept} {
			if out, err := b.Outcome(e); err != nil || out != want {
				t.Errorf("%s: %v, %v", e.Content, out, err)
			}
		}
		return nil
	})
}
