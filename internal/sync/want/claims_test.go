package want_test

import (
	"fmt"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// An announcement that waits for git data makes its relays known, for states alone, and joins nobody.
func TestAnAnnouncementThatWaitsMakesItsRelaysKnown(t *testing.T) {
	a, b := key(0), key(1)
	f := newFold(t)
	waits := f.Announce(a, "x", 10, []string{us, relay(1), relay(2)}, b)
	f.AddAll(f.Announce(b, "x", 10, []string{us, relay(3)}, a), f.Issue(11, address(a, "x")))
	f.Await(waits)
	f.Await(waits)
	f.Expect(t, map[int]string{1: "x/1/0", 2: "x/1/0", 3: "x/2/0"})
	w := f.Wants["wss://r1.example.net"]
	if r := w.Repository(w.Repos[0].Item); !r.Claimed {
		t.Error("everything is asked for what waits")
	}
	for r, n := range map[int]int{1: 1, 2: 1, 3: 0} {
		if w := f.Wants[want.URL(relay(r))]; w.Claims != n {
			t.Errorf("relay %d: %d claims, want %d", r, w.Claims, n)
		}
	}
	f.Await(f.Announce(a, "elsewhere", 10, []string{relay(4)}))
	f.Await(f.Issue(12, address(b, "x")))
	f.Expect(t, map[int]string{4: "none"})
	f.SetLists(lists(t, func(l *policy.Lists) error { return l.DenyPubKeys.AddAuthor(a.String()) }))
	f.Expect(t, map[int]string{1: "none", 2: "none", 3: "x/2/0"})
	f.SetLists(policy.Lists{})
	f.Expect(t, map[int]string{1: "x/1/0"})
	f.Add(waits)
	f.Expect(t, map[int]string{1: "x/1,2/1 x/2,1/1", 2: "x/1,2/1 x/2,1/1", 3: "x/1,2/1 x/2,1/1"})
	if w := f.Wants["wss://r1.example.net"]; w.Repository(w.Repos[0].Item).Claimed || w.Claims != 0 {
		t.Error("what is served is asked for by its states alone")
	}
}

func TestWhatWaitsNoLongerIsAskedOfNobody(t *testing.T) {
	f := newFold(t)
	var all []*nostr.Event
	for i := range 25 {
		all = append(all, f.Announce(key(0), fmt.Sprintf("d%02d", i), 10, []string{us, relay(i)}))
		f.Await(all[i])
	}
	f.Expect(t, map[int]string{0: "d00/1/0", 19: "d19/1/0", 20: "none", 24: "none"})
	f.SweepNames()
	f.Remove(all[0].ID)
	f.Remove(all[1].ID)
	f.Expect(t, map[int]string{0: "none", 1: "none", 2: "d02/1/0", 20: "d20/1/0", 21: "d21/1/0", 22: "none"})
	if w := f.Wants[want.URL(relay(0))]; w != nil && w.Claims != 0 {
		t.Errorf("%d claims are left", w.Claims)
	}
	for _, e := range all {
		f.Remove(e.ID)
	}
	f.Expect(t, map[int]string{2: "none", 21: "none"})
}
