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

// aboutPage lists up to most of what is about ids or addresses, behind a place.
func aboutPage(t testing.TB, v View, ids []nostr.ID, addresses []string, after *store.Pair, most int) []store.Pair {
	t.Helper()
	var out []store.Pair
	for row, err := range v.About(t.Context(), ids, addresses, after) {
		if err != nil {
			t.Fatal(err)
		}
		if e, err := row.Event(); err != nil || e.ID != row.ID || e.CreatedAt != row.Time {
			t.Fatalf("row does not fit its event: %v", err)
		}
		if out = append(out, store.Pair{Time: row.Time, ID: row.ID}); len(out) == most {
			break
		}
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
		for _, p := range aboutPage(t, v, []nostr.ID{id, id, {9}}, []string{
			address, "none", Address(1, 30618, "x"), Address(3, 30617, "x"), Address(4, 30018, "x"), address,
		}, nil, -1) {
			got = append(got, p.ID)
		}
		wantIDs(t, "both", got, want)
		if got := aboutPage(t, v, []nostr.ID{id}, nil, nil, -1); len(got) != 3 {
			t.Errorf("%d name the id", len(got))
		}
		if got := aboutPage(t, v, nil, nil, nil, -1); got != nil {
			t.Errorf("%d name nothing", len(got))
		}
	}},
	{"in pages, while others write", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		var ids []nostr.ID
		for i := range 150 { // more ranges than one would read ahead at once
			ids = append(ids, nostr.ID{1, byte(i)})
		}
		var want []store.Pair
		for i := range 90 { // many in a second
			e := Event(byte(i), Start-int64(i%7), 1, fmt.Sprint(i), nostr.Tag{"e", ids[i].String()}, nostr.Tag{"E", ids[i+50].String()})
			for n := 0; i == 40 && e.ID[31] != 0xff; n++ { // one whose next place has a carry
				e = Event(byte(i), Start-int64(i%7), 1, fmt.Sprint(n), e.Tags...)
			}
			r.add(t, policy.Accept, e)
			want = append(want, store.Pair{Time: e.CreatedAt, ID: e.ID})
		}
		slices.SortFunc(want, byPlace)
		for _, size := range []int{1, 8, 89, 90, 91} {
			var got []store.Pair
			var after *store.Pair
			for n := 0; ; n++ {
				if n > len(want)+200 {
					t.Fatalf("pages of %d have no end", size)
				}
				v := r.View()
				page := aboutPage(t, v, ids, nil, after, size)
				v.Close()
				if got = append(got, page...); len(page) < size {
					break
				}
				after = &page[size-1]
				// What is newer than the place is not seen any more.
				r.add(t, policy.Accept, Event(9, Start+1, 1, fmt.Sprint("new", size, n), nostr.Tag{"e", ids[0].String()}))
			}
			got = slices.DeleteFunc(got, func(p store.Pair) bool { return p.Time > Start })
			if !slices.Equal(got, want) {
				t.Errorf("in pages of %d: %d, not %d", size, len(got), len(want))
			}
		}
		v := r.View()
		defer v.Close()
		if got := aboutPage(t, v, ids, nil, &store.Pair{Time: 0, ID: nostr.ID(slices.Repeat([]byte{0xff}, 32))}, -1); got != nil {
			t.Errorf("%d behind the last place", len(got))
		}
		// What stands at an address is in its place among the others.
		r.add(t, policy.Accept, Announcement(1, want[50].Time, "x", ""))
		middle := aboutPage(t, v0(r, t), ids, []string{Address(1, 30617, "x")}, &want[3], -1)
		if len(middle) != 90-4+1 || !slices.IsSortedFunc(middle, byPlace) {
			t.Errorf("%d of them behind the fourth", len(middle))
		}
		for i, p := range middle {
			if got := aboutPage(t, v0(r, t), ids, []string{Address(1, 30617, "x")}, &p, 1); i+1 < len(middle) && (len(got) != 1 || got[0] != middle[i+1]) {
				t.Errorf("%v behind %v, not %v", got, p, middle[i+1])
			}
		}
		// A place need not be there.
		if got := aboutPage(t, v, ids, nil, &store.Pair{Time: want[5].Time, ID: before(want[5].ID)}, 1); len(got) != 1 || got[0] != want[5] {
			t.Errorf("%v, want %v", got, want[5])
		}
	}},
}

func byPlace(a, b store.Pair) int { return cmp.Or(cmp.Compare(b.Time, a.Time), a.ID.Compare(b.ID)) }

// v0 is the state of now, for as long as the test lasts.
func v0(r *rig, t testing.TB) View {
	v := r.View()
	t.Cleanup(v.Close)
	return v
}

// before is the id that comes right before another.
func before(id nostr.ID) nostr.ID {
	for i := len(id) - 1; ; i-- {
		if id[i]--; id[i] != 0xff {
			return id
		}
	}
}
