package storetest

import (
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var countCases = []testCase{
	{"each event once, whatever finds it", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a := Event(1, Start, 1621, "a", nostr.Tag{"a", "x"}, nostr.Tag{"t", "bug"})
		b := Event(2, Start, 1617, "b", nostr.Tag{"A", "x"}, nostr.Tag{"t", "bug"}, nostr.Tag{"t", "more"})
		c := Event(2, Start+20, 1621, "c", nostr.Tag{"a", "y"})
		soon := Event(2, Start+20, 1621, "soon", nostr.Tag{"expiration", "1700000030"})
		r.add(t, policy.Accept, a, b, c, soon)
		r.remember(t, policy.Refuse, Event(3, Start, 1621, "refused", nostr.Tag{"a", "x"}))
		issues := nostr.Filter{Kinds: []nostr.Kind{1621}}
		for _, q := range []struct {
			name    string
			filters []nostr.Filter
			want    int
		}{
			{"nothing is asked", nil, 0},
			{"everything", []nostr.Filter{{}}, 4},
			{"refused ones are not counted", []nostr.Filter{{Authors: []nostr.PubKey{Author(3)}}}, 0},
			{"kind", []nostr.Filter{issues}, 3},
			{"twice the same", []nostr.Filter{issues, issues}, 3},
			{"overlapping", []nostr.Filter{tagged('t', "bug", "more"), tagged('a', "x", "y"), {IDs: []nostr.ID{a.ID, c.ID}}}, 3},
			{"apart", []nostr.Filter{tagged('a', "y"), tagged('A', "x")}, 2},
			{"one that matches nothing", []nostr.Filter{tagged('a', "y"), {Kinds: []nostr.Kind{}}, tagged('z', "y")}, 1},
			{"limits do not matter", []nostr.Filter{{Kinds: []nostr.Kind{1621}, Limit: ptr(1)}, {Limit: ptr(0), Kinds: []nostr.Kind{1617}}}, 4},
			{"in time", []nostr.Filter{{Since: ptr[int64](Start + 1)}, {Until: ptr[int64](Start - 1)}}, 2},
		} {
			if got := r.count(t, q.filters); got != q.want {
				t.Errorf("%s: %d, want %d", q.name, got, q.want)
			}
		}
		r.now = Start + 40
		if got := r.count(t, []nostr.Filter{{}}); got != 3 {
			t.Errorf("after one has expired: %d", got)
		}
		r.batch(t, func(b Batch) {
			if err := b.Remove(a.ID, store.ReasonDeleted); err != nil {
				t.Fatal(err)
			}
		})
		if got := r.count(t, []nostr.Filter{issues}); got != 1 {
			t.Errorf("after one was removed: %d", got)
		}
	}},
}

func (r *rig) count(t *testing.T, filters []nostr.Filter) int {
	t.Helper()
	v := r.View()
	defer v.Close()
	n, err := v.Count(t.Context(), filters)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
