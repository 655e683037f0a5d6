package storetest

import (
	"errors"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var batchCases = []testCase{
	{"nothing is visible before commit", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Event(1, Start, 1, "a")
		b, err := r.Begin()
		if err != nil {
			t.Fatal(err)
		}
		before := r.View()
		add(t, b, policy.Accept, e, 0)
		if r.Head() != 0 || len(r.query(t, nostr.Filter{})) != 0 || len(feed(t, r, 0, 10)) != 0 || r.known(t, e.ID).State != store.Unknown {
			t.Error("an open batch is visible")
		}
		if ok, err := b.Has(e.ID); !ok || err != nil {
			t.Errorf("the batch does not see its own event: %v", err)
		}
		if seq, err := b.Commit(); err != nil || seq != 1 {
			t.Fatalf("commit: %d, %v", seq, err)
		}
		if ids := queryIDs(t, before, nostr.Filter{}); len(ids) != 0 {
			t.Error("an older view changed")
		}
		before.Close()
		wantIDs(t, "after commit", r.query(t, nostr.Filter{}), idsOf(e))
		if r.Head() != 1 || r.known(t, e.ID).State != store.Stored {
			t.Error("a commit is not visible")
		}
	}},
	{"discard leaves nothing", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		b, err := r.Begin()
		if err != nil {
			t.Fatal(err)
		}
		e := Event(1, Start, 1, "a")
		add(t, b, policy.Accept, e, 0)
		b.Discard()
		b.Discard()
		if _, err := b.Commit(); err == nil {
			t.Error("a discarded batch was committed")
		}
		if seq := r.add(t, policy.Accept, e); seq != 1 {
			t.Errorf("first entry is %d", seq)
		}
	}},
	{"one batch at a time", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		b, err := r.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Begin(); !errors.Is(err, store.ErrBusy) {
			t.Errorf("second batch: %v", err)
		}
		b.Discard()
		r.add(t, policy.Accept, Event(1, Start, 1, "a"))
	}},
	{"an empty batch changes nothing", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		r.add(t, policy.Accept, Event(1, Start, 1, "a"))
		_, changed, err := r.Since(0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if seq := r.batch(t, func(Batch) {}); seq != 1 {
			t.Errorf("commit of nothing: %d", seq)
		}
		select {
		case <-changed:
			t.Error("readers were woken for nothing")
		default:
		}
	}},
	{"the same event is stored once", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Event(1, Start, 1, "a")
		r.batch(t, func(b Batch) {
			add(t, b, policy.Accept, e, "first")
			add(t, b, policy.Duplicate, e, "same batch")
		})
		r.add(t, policy.Duplicate, e)
		r.reopen(t)
		r.add(t, policy.Duplicate, e)
		wantIDs(t, "query", r.query(t, nostr.Filter{}), idsOf(e))
		if n := len(feed(t, r, 0, 10)); n != 1 || r.Head() != 1 {
			t.Errorf("%d entries, head %d", n, r.Head())
		}
	}},
	{"what is committed is there after reopening", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a, b := Event(1, Start, 1, "a"), Event(2, Start+1, 1621, "b", nostr.Tag{"t", "x"})
		r.add(t, policy.Accept, a, b)
		r.reopen(t)
		wantIDs(t, "query", r.query(t, nostr.Filter{}), idsOf(b, a))
		entries := feed(t, r, 0, 1)
		if len(entries) != 2 || entries[0].Event.ID != a.ID || entries[1].Seq != 2 || entries[0].Source != store.Live {
			t.Errorf("feed: %+v", entries)
		}
	}},
	{"numbers are not given again after reopening", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Event(1, Start, 1, "a")
		r.add(t, policy.Accept, e)
		head := r.batch(t, func(b Batch) {
			if err := b.Remove(e.ID, store.ReasonWithdrawn); err != nil {
				t.Fatal(err)
			}
		})
		r.reopen(t)
		if r.Head() != head {
			t.Errorf("head %d, was %d", r.Head(), head)
		}
		if seq := r.add(t, policy.Accept, Event(1, Start, 1, "b")); seq != head+1 {
			t.Errorf("next entry %d after %d", seq, head)
		}
	}},
	{"counts", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a := Announcement(1, Start, "x", "1")
		r.add(t, policy.Accept, a, Announcement(1, Start+1, "x", "2"), Event(1, Start, 1, ""))
		r.remember(t, policy.Refuse, Event(2, Start, 1, "", nostr.Tag{"e", a.ID.String()}, nostr.Tag{"p", "x"}))
		r.reopen(t)
		s := r.Stats()
		s.DiskBytes = 0
		if want := (store.Stats{Head: 4, Events: 2, Repositories: 1, Remembered: 2, RememberedRows: 6}); s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
	}},
}
