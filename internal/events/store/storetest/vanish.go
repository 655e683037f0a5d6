package storetest

import (
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Vanish is a request to vanish (kind 62).
func Vanish(author byte, at int64, content string) *nostr.Event {
	return Event(author, at, nostr.KindVanish, content, nostr.Tag{"relay", "ALL_RELAYS"})
}

// Wrap is a gift wrap for somebody.
func Wrap(author byte, at int64, to byte) *nostr.Event {
	return Event(author, at, nostr.KindGiftWrap, "", nostr.Tag{"p", Author(9).String()}, nostr.Tag{"p", Author(to).String()})
}

// purge removes until nothing is left to remove.
func purge(t testing.TB, b Batch) {
	t.Helper()
	for range 1000 {
		more, err := b.Purge(10)
		if err != nil {
			t.Fatalf("purge: %v", err)
		}
		if !more {
			return
		}
	}
	t.Fatal("purging has no end")
}

var vanishCases = []testCase{
	{"what there is goes, whatever its kind", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		note := Event(1, Start-10, 1, "note")
		own := []*nostr.Event{
			note, Announcement(1, Start-9, "x", ""), Event(1, Start-8, 10317, ""), Event(1, Start-7, 30618, "", nostr.Tag{"d", "x"}),
			Deletion(1, Start-6, nostr.Tag{"e", Start8}), Vanish(1, Start-11, "before"), Event(1, Start, 1, "same second"),
			Event(1, Start-5, 1, "", nostr.Tag{"expiration", "9999999999"}), Wrap(2, Start-4, 1), Wrap(2, Start, 1),
		}
		others := []*nostr.Event{
			Event(1, Start+1, 1, "later"), Event(2, Start-10, 1, "other", nostr.Tag{"p", Author(1).String()}),
			Event(2, Start-10, 1, "reply", nostr.Tag{"e", note.ID.String()}), Wrap(2, Start+1, 1), Wrap(2, Start-1, 3), Wrap(1, Start+1, 2),
		}
		r.add(t, policy.Accept, append(own[5:6:6], append(own[:5:5], own[6:]...)...)...)
		r.add(t, policy.Accept, others...)
		req := Vanish(1, Start, "please")
		head := r.add(t, policy.Accept, req)
		if !purging(t, r) {
			t.Error("nothing to purge")
		}
		r.batch(t, func(b Batch) { purge(t, b) })
		if purging(t, r) {
			t.Error("purging goes on")
		}
		left := map[nostr.ID]bool{}
		for _, id := range r.query(t, nostr.Filter{}) {
			left[id] = true
		}
		for _, e := range append(others, req) {
			if !left[e.ID] {
				t.Errorf("%d by %s at %+d has gone", e.Kind, e.PubKey.String()[:4], e.CreatedAt-Start)
			}
			delete(left, e.ID)
		}
		for _, e := range own {
			if left[e.ID] {
				t.Errorf("%d by %s at %+d is still here", e.Kind, e.PubKey.String()[:4], e.CreatedAt-Start)
			}
			if k := r.known(t, e.ID); k.State != store.Remembered || k.Why != policy.Vanished {
				t.Errorf("%d is known as %v", e.Kind, k)
			}
		}
		entries := feed(t, r, head, 3)
		if len(entries) != len(own) {
			t.Errorf("the feed has %d entries for %d removals", len(entries), len(own))
		}
		for _, e := range entries {
			if e.Event != nil || e.Reason != store.ReasonVanished {
				t.Errorf("entry %+v", e)
			}
		}
	}},
	{"it stays away, and what is newer is welcome", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		r.add(t, policy.Accept, Event(1, Start-1, 1, ""), Announcement(1, Start-1, "x", ""), Vanish(1, Start, ""))
		for i := range 3 { // before it is purged, after, and after a restart
			r.add(t, policy.Vanished, Event(1, Start, 1, "same second"), Event(1, Start-100, 1, "old"), Wrap(2, Start, 1), Vanish(1, Start, "again"),
				Vanish(1, Start-1, "older"), Deletion(1, Start-1, nostr.Tag{"e", Start8}), Announcement(1, Start-1, "y", ""), Event(1, Start-50, 10317, ""))
			r.add(t, policy.Accept, Event(2, Start-100, 1, string(rune('a'+i))))
			r.batch(t, func(b Batch) { purge(t, b) })
			if i == 1 {
				r.reopen(t)
			}
		}
		r.now += 30 * 24 * 3600
		r.add(t, policy.Vanished, Event(1, Start-1, 1, ""), Announcement(1, Start-1, "x", ""))
		r.add(t, policy.Accept, Event(1, Start+1, 1, "back"), Announcement(1, Start+1, "x", "back"), Wrap(2, Start+1, 1), Wrap(1, Start+1, 1))
		r.add(t, policy.Duplicate, Vanish(1, Start, ""))
	}},
	{"a later request includes an earlier one", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		first, second := Vanish(1, Start, "first"), Vanish(1, Start+10, "second")
		between := Event(1, Start+5, 1, "")
		r.add(t, policy.Accept, Event(1, Start-1, 1, ""), first, between, second)
		r.batch(t, func(b Batch) { purge(t, b) })
		wantIDs(t, "left", r.query(t, nostr.Filter{}), idsOf(second))
		r.add(t, policy.Vanished, first, between)
	}},
	{"a request that is not committed does nothing", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Event(1, Start, 1, "")
		r.add(t, policy.Accept, e)
		b, err := r.Begin()
		if err != nil {
			t.Fatal(err)
		}
		add(t, b, policy.Accept, Vanish(1, Start+1, ""), "request")
		purge(t, b)
		b.Discard()
		wantIDs(t, "left", r.query(t, nostr.Filter{}), idsOf(e))
		r.add(t, policy.Accept, Event(1, Start-1, 1, "more"))
	}},
	{"deletions lose their force with it, but for newer ones", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		next := func(n int64) *nostr.Event { return Event(1, Start+n, 1, "later than its deletion") }
		ann := func(n int64) *nostr.Event { return Announcement(1, Start+n, "x", "") }
		address := nostr.Tag{"a", Address(1, 30617, "x")}
		r.add(t, policy.Accept, ann(-9))
		r.add(t, policy.Accept,
			Deletion(1, Start-5, nostr.Tag{"e", next(5).ID.String()}, nostr.Tag{"e", next(6).ID.String()}, address),
			Deletion(1, Start-4, nostr.Tag{"e", next(5).ID.String()}),
			Deletion(1, Start+8, nostr.Tag{"e", next(6).ID.String()}),
			Vanish(1, Start, ""))
		r.batch(t, func(b Batch) { purge(t, b) })
		r.add(t, policy.Accept, next(5), ann(1))
		r.add(t, policy.Deleted, next(6))
		r.add(t, policy.Vanished, ann(-9), ann(0))
	}},
	{"a withdrawn announcement is forgotten in time", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		gone, newer := Announcement(1, Start-1, "x", ""), Announcement(1, Start+5, "y", "")
		r.remember(t, policy.Withdraw, gone, newer)
		r.add(t, policy.Accept, Vanish(1, Start, ""))
		r.batch(t, func(b Batch) { purge(t, b) })
		if k := r.known(t, gone.ID); k.Why != policy.Vanished {
			t.Errorf("known as %v", k)
		}
		r.now += 9 * day
		r.add(t, policy.Accept, Event(3, Start, 1, ""))
		if k := r.known(t, gone.ID); k.State != store.Unknown {
			t.Errorf("after nine days known as %v", k)
		}
		if k := r.known(t, newer.ID); k.Why != policy.Withdraw {
			t.Errorf("the newer one is known as %v", k)
		}
		r.add(t, policy.Superseded, Announcement(1, Start+4, "y", ""), Announcement(1, Start+1, "y", ""))
	}},
	{"repositories that go are told", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		r.add(t, policy.Accept, Announcement(1, Start, "x", ""), Announcement(1, Start, "y", ""), Announcement(2, Start, "x", ""), Vanish(1, Start+1, ""))
		r.batch(t, func(b Batch) {
			purge(t, b)
			if lost := b.LostRepositories(); len(lost) != 2 {
				t.Errorf("lost %q", lost)
			}
			if list, err := b.Announcements("x"); err != nil || len(list) != 1 {
				t.Errorf("%d announcements, %v", len(list), err)
			}
			if has, err := b.HasAddress(Address(1, 30617, "x")); err != nil || has {
				t.Errorf("has the address: %v, %v", has, err)
			}
		})
		if n := r.Stats().Repositories; n != 1 {
			t.Errorf("%d repositories", n)
		}
	}},
}

func purging(t testing.TB, r *rig) bool {
	t.Helper()
	v := r.View()
	defer v.Close()
	ok, err := v.Purging()
	if err != nil {
		t.Fatal(err)
	}
	return ok
}
