package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// age removes the deletions whose time is over, some at a time, and the marks that are over.
func (r *rig) age(t testing.TB, max int) (next time.Time, n int) {
	t.Helper()
	r.batch(t, func(b Batch) {
		var err error
		if next, n, err = b.AgeDue(time.Unix(r.now, 0), max); err != nil {
			t.Fatal(err)
		}
		if _, err := b.SweepMarks(time.Unix(r.now, 0), 1<<30); err != nil {
			t.Fatal(err)
		}
	})
	return next, n
}

// wantUnused requires that a deletion is served no more and known.
func (r *rig) wantUnused(t testing.TB, del *nostr.Event) {
	t.Helper()
	wantIDs(t, "query", r.query(t, nostr.Filter{IDs: idsOf(del)}), nil)
	deletions := nostr.Filter{Authors: []nostr.PubKey{del.PubKey}, Kinds: []nostr.Kind{nostr.KindDeletion}}
	if !slices.Contains(r.pairs(t, deletions, true), del.ID) {
		t.Error("a comparison would bring it again")
	}
	if k := r.known(t, del.ID); k.State != store.Remembered || k.Why != policy.Unused {
		t.Errorf("it is known as %v", k)
	}
}

// outcome is what the rules say.
func (r *rig) outcome(t testing.TB, e *nostr.Event) (out policy.Outcome) {
	t.Helper()
	r.batch(t, func(b Batch) {
		var err error
		if out, err = b.Outcome(e); err != nil {
			t.Fatal(err)
		}
	})
	return out
}

func deletionOf(at int64, targets ...*nostr.Event) *nostr.Event {
	var tags []nostr.Tag
	for _, e := range targets {
		tags = append(tags, nostr.Tag{"e", e.ID.String()})
	}
	return Deletion(1, at, tags...)
}

var unusedCases = []testCase{
	{"a deletion that removes nothing is served for a month, and keeps away for half a year more", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		target, ann := Event(1, Start-5, 1, "target"), Announcement(1, Start-5, "x", "ann")
		byID, byAddress := deletionOf(Start, target), Deletion(1, Start, nostr.Tag{"a", ann.Address()})
		r.add(t, policy.Accept, byID, byAddress)
		r.now += 30*day - 1
		if next, n := r.age(t, 10); n != 0 || next.Unix() != Start+30*day {
			t.Errorf("%d before their time, next at %v", n, next)
		}
		wantIDs(t, "a second before", r.query(t, nostr.Filter{IDs: idsOf(byID, byAddress)}), idsOf(byID, byAddress))
		r.now++
		r.reopen(t)
		if next, n := r.age(t, 1); n != 1 || next.Unix() != Start+30*day {
			t.Errorf("%d in a small step, next at %v", n, next)
		}
		r.reopen(t)
		if next, n := r.age(t, 10); n != 1 || !next.IsZero() {
			t.Errorf("%d, next at %v", n, next)
		}
		for _, del := range []*nostr.Event{byID, byAddress} {
			r.wantUnused(t, del)
		}
		r.now += 183*day - 1
		r.age(t, 10)
		for _, e := range []*nostr.Event{target, ann} {
			if out := r.outcome(t, e); out != policy.Deleted {
				t.Errorf("at the end of half a year: %v", out)
			}
		}
		r.now++
		for _, swept := range []bool{false, true} {
			for _, e := range []*nostr.Event{target, ann} {
				if out := r.outcome(t, e); out != policy.Accept {
					t.Errorf("after half a year, swept %v: %v", swept, out)
				}
			}
			r.age(t, 10)
		}
		r.now += day
		r.add(t, policy.Accept, target, ann)
		if k := r.known(t, byID.ID); k.State != store.Unknown {
			t.Errorf("it is known for ever: %v", k)
		}
	}},
	{"a deletion that has removed something stays", func(t *testing.T, d Disk) {
		for _, which := range []string{"stored", "address", "waits", "others", "later in steps"} {
			r := newRig(t, d.Fresh(t), store.Options{DeleteAtOnce: 1})
			target, absent := Event(1, Start-5, 1, "target"), Event(1, Start-5, 1, "absent")
			del := Deletion(1, Start, nostr.Tag{"e", target.ID.String()}, nostr.Tag{"k", "1"})
			switch which {
			case "stored":
				r.add(t, policy.Accept, target)
			case "address":
				ann := Announcement(1, Start-5, "x", "ann")
				r.add(t, policy.Accept, ann)
				del = Deletion(1, Start, nostr.Tag{"a", ann.Address()})
			case "waits":
				r.wait(t, policy.Wait, target)
			case "others":
				r.opt.DeleteAtOnce = 9
				r.reopen(t)
				r.add(t, policy.Accept, target)
				del = deletionOf(Start, absent, target)
			case "later in steps":
				r.add(t, policy.Accept, target)
				del = deletionOf(Start, absent, target)
			}
			r.add(t, policy.Accept, del)
			r.batch(t, func(b Batch) {
				if _, err := b.Purge(1 << 20); err != nil {
					t.Fatal(err)
				}
			})
			r.now += 500 * day
			r.age(t, 10)
			r.now += 500 * day
			r.age(t, 10)
			wantIDs(t, which, r.query(t, nostr.Filter{IDs: idsOf(del)}), idsOf(del))
			if which == "others" || which == "later in steps" {
				if out := r.outcome(t, absent); out != policy.Deleted {
					t.Errorf("what else it names: %v", out)
				}
			}
		}
	}},
	{"an old deletion that removes nothing is not served, and keeps away from now on", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		target, here := Event(1, Start-200*day, 1, "target"), Event(1, Start-200*day, 1, "here")
		r.add(t, policy.Accept, here)
		del, used := deletionOf(Start-100*day, target), deletionOf(Start-100*day, here)
		r.add(t, policy.Accept, del, used)
		r.wantUnused(t, del)
		wantIDs(t, "what has removed something", r.query(t, nostr.Filter{IDs: idsOf(used)}), idsOf(used))
		r.now += 183*day - 1
		if out := r.outcome(t, target); out != policy.Deleted {
			t.Error(out)
		}
		r.now++
		if out := r.outcome(t, target); out != policy.Accept {
			t.Error(out)
		}
	}},
	{"an author has so many deletions that remove nothing", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{MaxUnused: 2})
		var targets, dels []*nostr.Event
		for i := range int64(4) {
			targets = append(targets, Event(1, Start-9, 1, fmt.Sprint(i)))
			dels = append(dels, deletionOf(Start+i, targets[i]))
		}
		r.add(t, policy.Accept, targets[3])
		r.add(t, policy.Accept, dels...)
		wantIDs(t, "two, and one that removes something", r.query(t, nostr.Filter{Kinds: []nostr.Kind{nostr.KindDeletion}}), idsOf(dels[3], dels[1], dels[0]))
		r.wantUnused(t, dels[2])
		other := Deletion(2, Start, nostr.Tag{"e", targets[0].ID.String()})
		r.add(t, policy.Accept, other)
		wantIDs(t, "somebody else's", r.query(t, nostr.Filter{IDs: idsOf(other)}), idsOf(other))
		for _, e := range targets {
			if out := r.outcome(t, e); out != policy.Deleted {
				t.Error(out)
			}
		}
		// There is room again once some have gone, and no more than two are remembered for long.
		r.now += 40 * day
		r.age(t, 10)
		again := deletionOf(r.now, Event(1, Start-9, 1, "again"))
		r.add(t, policy.Accept, again)
		wantIDs(t, "afterwards", r.query(t, nostr.Filter{IDs: idsOf(again)}), idsOf(again))
		long := 0
		for _, e := range dels {
			if r.known(t, e.ID).Why == policy.Unused {
				long++
			}
		}
		if long != 2 {
			t.Errorf("%d are remembered for long", long)
		}
		r.now += 10 * day
		r.add(t, policy.Accept, Event(1, r.now, 1, "time has passed"))
		if k := r.known(t, dels[1].ID); k.State != store.Unknown {
			t.Errorf("one too many is remembered for more than a week: %v", k)
		}
	}},
	{"what a deletion keeps away prolongs it", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		target := Event(1, Start-5, 1, "target")
		del := deletionOf(Start, target)
		r.add(t, policy.Accept, del)
		r.now += 10 * day
		r.remember(t, policy.Deleted, target)
		r.now += 25 * day
		if next, n := r.age(t, 10); n != 1 || next.Unix() != Start+(10+183)*day {
			t.Errorf("%d, next at %v", n, next)
		}
		wantIDs(t, "after a month", r.query(t, nostr.Filter{IDs: idsOf(del)}), idsOf(del))
		r.now = Start + (10+183)*day
		r.age(t, 10)
		r.wantUnused(t, del)
		r.remember(t, policy.Deleted, target) // not even as a gate
		r.now += 366*day - 1
		if out := r.outcome(t, target); out != policy.Deleted {
			t.Error(out)
		}
		r.now++
		if out := r.outcome(t, target); out != policy.Accept {
			t.Error(out)
		}
	}},
	{"an unfinished deletion is not taken for unused", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{DeleteAtOnce: 1})
		target, absent := Event(1, Start-5, 1, "target"), Event(1, Start-5, 1, "absent")
		r.add(t, policy.Accept, target)
		del := deletionOf(Start-100*day, absent, target)
		r.add(t, policy.Accept, del)
		r.now += 2 * day
		if next, n := r.age(t, 10); n != 1 || next.Unix() != r.now+day {
			t.Errorf("%d, next at %v", n, next)
		}
		wantIDs(t, "unfinished", r.query(t, nostr.Filter{IDs: idsOf(del)}), idsOf(del))
		r.batch(t, func(b Batch) {
			if _, err := b.Purge(1 << 20); err != nil {
				t.Fatal(err)
			}
		})
		r.now += 2 * day
		if next, n := r.age(t, 10); n != 1 || !next.IsZero() {
			t.Errorf("%d, next at %v", n, next)
		}
		wantIDs(t, "finished", r.query(t, nostr.Filter{IDs: idsOf(del, target)}), idsOf(del))
	}},
	{"marks that are over make room for others", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{MaxMarks: 1})
		one, two := Event(1, Start-5, 1, "one"), Event(1, Start-5, 1, "two")
		r.add(t, policy.Accept, deletionOf(Start, one))
		r.now += 10
		r.add(t, policy.Accept, deletionOf(Start+10, two))
		if out := r.outcome(t, two); out != policy.Accept {
			t.Errorf("beyond the bound: %v", out)
		}
		r.now += 250 * day
		r.age(t, 10)
		r.add(t, policy.Accept, deletionOf(r.now, two))
		if out := r.outcome(t, two); out != policy.Deleted {
			t.Errorf("with room again: %v", out)
		}
	}},
	{"a deletion that leaves ages no more", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{MaxUnused: 1})
		del := deletionOf(Start, Event(1, Start-5, 1, "one"))
		r.add(t, policy.Accept, del)
		r.batch(t, func(b Batch) {
			if err := b.Remove(del.ID, store.ReasonBarred); err != nil {
				t.Fatal(err)
			}
		})
		other := deletionOf(Start, Event(1, Start-5, 1, "two"))
		r.add(t, policy.Accept, other)
		wantIDs(t, "another in its place", r.query(t, nostr.Filter{IDs: idsOf(other)}), idsOf(other))
		r.now += 31 * day
		if _, n := r.age(t, 10); n != 1 {
			t.Errorf("%d", n)
		}
	}},
}
