package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// about lists what is about ids or addresses.
func about(t testing.TB, v View, ids []nostr.ID, addresses []string) []store.Pair {
	t.Helper()
	var out []store.Pair
	for row, err := range v.About(t.Context(), ids, addresses) {
		if err != nil {
			t.Fatal(err)
		}
		if e, err := row.Event(); err != nil || e.ID != row.ID || e.CreatedAt != row.Time {
			t.Fatalf("row does not fit its event: %v", err)
		}
		out = append(out, store.Pair{Time: row.Time, ID: row.ID})
	}
	return out
}

var aboutCases = []testCase{
	{"every way of being about something", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		id, address := nostr.ID{7}, Address(1, 30617, "x")
		var want []nostr.ID
		for i, name := range []string{"e", "E", "q", "a", "A", "q", "p", "u", "e", "a", "d"} {
			value := id.String()
			if i > 2 && i < 8 {
				value = address
			}
			e := Event(byte(i), Start+int64(100-i), 1, "", nostr.Tag{name, value}, nostr.Tag{"a", "other"})
			switch {
			case i == 8:
				e = Event(8, Start-1, 1, "expired", nostr.Tag{"e", value}, nostr.Tag{"expiration", fmt.Sprint(Start + 5)})
			case i == 9:
				e = Event(9, Start-2, 1, "an id is no address", nostr.Tag{"a", value}, nostr.Tag{"e", address})
			}
			r.add(t, policy.Accept, e)
			if i < 6 {
				want = append(want, e.ID)
			}
		}
		r.remember(t, policy.Refuse, Event(20, Start, 1, "refused", nostr.Tag{"e", id.String()}))
		// What stands there: the newest version only, and only what is served.
		r.add(t, policy.Accept, Announcement(1, Start-3, "x", "older"))
		here := Announcement(1, Start+150, "x", "newer")
		state := Event(1, Start-4, 30618, "", nostr.Tag{"d", "x"}, nostr.Tag{"a", address})
		r.add(t, policy.Accept, here, state, Announcement(1, Start, "y", "elsewhere"), Announcement(2, Start, "x", "another's"))
		r.remember(t, policy.Refuse, Announcement(3, Start, "x", "refused"))
		r.add(t, policy.Accept, Event(4, Start, 30018, "", nostr.Tag{"d", "x"}, nostr.Tag{"expiration", fmt.Sprint(Start + 5)}))
		want = slices.Insert(append(want, state.ID), 0, here.ID)
		r.now += 10
		v := r.View()
		defer v.Close()
		var got []nostr.ID
		for _, p := range about(t, v, []nostr.ID{id, id, {9}}, []string{
			address, "none", Address(1, 30618, "x"), Address(3, 30617, "x"), Address(4, 30018, "x"), address,
		}) {
			got = append(got, p.ID)
		}
		wantIDs(t, "both", got, want)
		if got := about(t, v, []nostr.ID{id}, nil); len(got) != 3 {
			t.Errorf("%d name the id", len(got))
		}
		if got := about(t, v, nil, nil); got != nil {
			t.Errorf("%d name nothing", len(got))
		}
	}},
	{"in order, from many ranges", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		var ids []nostr.ID
		for i := range 150 { // more ranges than one would read ahead at once
			ids = append(ids, nostr.ID{1, byte(i)})
		}
		var want []store.Pair
		for i := range 90 { // many in a second
			e := Event(byte(i), Start-int64(i%7), 1, fmt.Sprint(i), nostr.Tag{"e", ids[i].String()}, nostr.Tag{"E", ids[i+50].String()})
			r.add(t, policy.Accept, e)
			want = append(want, store.Pair{Time: e.CreatedAt, ID: e.ID})
		}
		// What stands at an address is in its place among the others.
		here := Announcement(1, want[50].Time, "x", "")
		r.add(t, policy.Accept, here)
		want = append(want, store.Pair{Time: here.CreatedAt, ID: here.ID})
		slices.SortFunc(want, byPlace)
		v := r.View()
		defer v.Close()
		if got := about(t, v, ids, []string{here.Address()}); !slices.Equal(got, want) {
			t.Errorf("%d, not %d, or in another order", len(got), len(want))
		}
	}},
}

func byPlace(a, b store.Pair) int { return cmp.Or(cmp.Compare(b.Time, a.Time), a.ID.Compare(b.ID)) }
