package storetest

import (
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var replaceCases = []testCase{
	{"only the newest version of an address", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		for _, c := range []struct {
			name     string
			kind     nostr.Kind
			old, new nostr.Tags
		}{
			{"metadata", 0, nil, nil},
			{"follows", 3, nil, nil},
			{"replaceable", 10317, nil, nil},
			{"replaceable whatever its d", 10002, nostr.Tags{{"d", "x"}}, nostr.Tags{{"d", "y"}}},
			{"addressable", 30617, nostr.Tags{{"d", "x"}}, nostr.Tags{{"d", "x"}}},
			{"missing d is empty d", 30618, nil, nostr.Tags{{"d", ""}}},
			{"the first d counts", 30019, nostr.Tags{{"d", "x"}, {"d", "y"}}, nostr.Tags{{"d", "x"}, {"d", "z"}}},
		} {
			old, new := Event(1, Start, c.kind, "old", c.old...), Event(1, Start+1, c.kind, "new", c.new...)
			r.add(t, policy.Accept, old)
			r.add(t, policy.Accept, new)
			f := nostr.Filter{Kinds: []nostr.Kind{c.kind}}
			wantIDs(t, c.name, r.query(t, f), idsOf(new))
			wantIDs(t, c.name+", flagged", r.pairs(t, f, true), idsOf(new, old))
			r.add(t, policy.Superseded, old)
			if k := r.known(t, old.ID); k.State != store.Remembered || k.Why != policy.Superseded {
				t.Errorf("%s: the older version is known as %v", c.name, k)
			}
		}
	}},
	{"different addresses live side by side", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		r.add(t, policy.Accept, Announcement(1, Start, "x", ""), Announcement(1, Start, "y", ""), Announcement(2, Start, "x", ""),
			Event(1, Start, 30618, "", nostr.Tag{"d", "x"}), Event(1, Start, 1, ""), Event(1, Start+1, 1, ""))
		if n := len(r.query(t, nostr.Filter{})); n != 6 {
			t.Errorf("%d events", n)
		}
	}},
	{"of one second the lowest id wins, in either order", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		low, high := Announcement(1, Start, "x", "1"), Announcement(1, Start, "x", "2")
		if low.ID.Compare(high.ID) > 0 {
			low, high = high, low
		}
		r.add(t, policy.Accept, high)
		r.add(t, policy.Accept, low)
		r.add(t, policy.Superseded, high)
		wantIDs(t, "query", r.query(t, nostr.Filter{}), idsOf(low))
	}},
	{"a backdated version is refused", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		new := Announcement(1, Start, "x", "new")
		r.add(t, policy.Accept, new)
		r.add(t, policy.Superseded, Announcement(1, Start-1000, "x", "old"))
		wantIDs(t, "query", r.query(t, nostr.Filter{}), idsOf(new))
	}},
	{"versions within one batch", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a, b, c := Announcement(1, Start, "x", "a"), Announcement(1, Start+1, "x", "b"), Announcement(1, Start+2, "x", "c")
		r.batch(t, func(batch Batch) {
			add(t, batch, policy.Accept, a, "a")
			add(t, batch, policy.Accept, c, "c")
			add(t, batch, policy.Superseded, b, "b")
		})
		wantIDs(t, "query", r.query(t, nostr.Filter{}), idsOf(c))
	}},
	{"a withdrawn announcement stays gone", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		old, left, other := Announcement(1, Start, "x", "old"), Announcement(1, Start+5, "x", "left"), Announcement(1, Start+3, "x", "other")
		r.add(t, policy.Accept, old)
		r.remember(t, policy.Withdraw, left)
		wantIDs(t, "served", r.query(t, nostr.Filter{}), nil)
		wantIDs(t, "had", r.pairs(t, nostr.Filter{}, true), idsOf(left, old))
		r.add(t, policy.Superseded, old, other)
		r.now += 30 * 24 * 3600
		r.add(t, policy.Accept, Event(2, Start, 1, "")) // a commit forgets what is due
		wantIDs(t, "had after a month", r.pairs(t, nostr.Filter{Kinds: []nostr.Kind{30617}}, true), idsOf(left))
		r.add(t, policy.Superseded, old)

		// It may come back itself, and make place for a newer one.
		r.add(t, policy.Accept, left)
		wantIDs(t, "taken back", r.query(t, nostr.Filter{Kinds: []nostr.Kind{30617}}), idsOf(left))
		r.batch(t, func(b Batch) {
			if err := b.Remove(left.ID, store.ReasonWithdrawn); err != nil {
				t.Fatal(err)
			}
		})
		r.reopen(t)
		if k := r.known(t, left.ID); k.Why != policy.Withdraw {
			t.Errorf("withdrawn: known as %v", k)
		}
		new := Announcement(1, Start+9, "x", "new")
		r.add(t, policy.Accept, new)
		r.add(t, policy.Superseded, left)
		if k := r.known(t, left.ID); k.Why != policy.Superseded {
			t.Errorf("replaced: known as %v", k)
		}
		r.now += 30 * 24 * 3600
		r.add(t, policy.Accept, Event(3, Start, 1, ""))
		if k := r.known(t, left.ID); k.State != store.Unknown {
			t.Errorf("a withdrawn version that was replaced is remembered for ever: %v", k)
		}
	}},
	{"withdrawing by an older version does nothing to the newer", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		new, old := Announcement(1, Start+5, "x", "new"), Announcement(1, Start, "x", "old")
		r.add(t, policy.Accept, new)
		r.remember(t, policy.Withdraw, old)
		wantIDs(t, "served", r.query(t, nostr.Filter{}), idsOf(new))
		if k := r.known(t, old.ID); k.Why != policy.Superseded {
			t.Errorf("known as %v", k)
		}
	}},
	{"one withdrawn version per address is kept for ever", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a, b, c := Announcement(1, Start, "x", "a"), Announcement(1, Start+1, "x", "b"), Announcement(1, Start+2, "x", "c")
		r.add(t, policy.Accept, a)
		r.remember(t, policy.Withdraw, b)
		r.remember(t, policy.Withdraw, c)
		r.remember(t, policy.Refuse, c) // refused once more: as withdrawn as before
		r.now += 9 * 24 * 3600
		r.add(t, policy.Accept, Event(2, Start, 1, ""))
		wantIDs(t, "had", r.pairs(t, nostr.Filter{Kinds: []nostr.Kind{30617}}, true), idsOf(c))
	}},
}
