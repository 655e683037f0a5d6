package storetest

import (
	"fmt"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var forgetCases = []testCase{
	{"orphans that name what came, or that it names", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		repo := Address(1, 30617, "x")
		named, namedList := Event(2, Start, 1, "named"), Event(3, Start, 30019, "named", nostr.Tag{"d", "l"})
		e := Event(1, Start, 30617, "", nostr.Tag{"d", "x"}, nostr.Tag{"e", named.ID.String()}, nostr.Tag{"a", namedList.Address()}, nostr.Tag{"q", Start8})
		byAddress := Event(4, Start, 1621, "", nostr.Tag{"a", repo})
		byRoot := Event(4, Start, 1111, "", nostr.Tag{"A", repo})
		byQuote := Event(4, Start, 1, "", nostr.Tag{"q", repo})
		byID := Event(4, Start, 7, "", nostr.Tag{"e", e.ID.String()})
		orphans := []*nostr.Event{named, namedList, byAddress, byRoot, byQuote, byID}
		r.remember(t, policy.Unrelated, orphans...)
		other := Event(4, Start, 1621, "", nostr.Tag{"a", Address(1, 30617, "y")})
		otherList := Event(3, Start, 30019, "other", nostr.Tag{"d", "other"})
		r.remember(t, policy.Unrelated, other, otherList)
		for _, k := range []nostr.Kind{0, 5, 62, 10317} {
			waiting := Event(1, Start-50, k, "of the same author")
			orphans = append(orphans, waiting)
			r.remember(t, policy.Unrelated, waiting)
		}
		r.remember(t, policy.Unrelated, Event(1, Start, 1, "of the same author"))
		refused := Event(5, Start, 1621, "refused", nostr.Tag{"a", repo})
		r.remember(t, policy.Refuse, refused)
		r.batch(t, func(b Batch) {
			add(t, b, policy.Accept, e, "repository")
			n, more, err := b.ForgetOrphans(e, 100)
			if n != len(orphans) || more || err != nil {
				t.Errorf("forgot %d, more %v, %v", n, more, err)
			}
		})
		for i, o := range orphans {
			if k := r.known(t, o.ID); k.State != store.Unknown {
				t.Errorf("orphan %d: known as %v", i, k)
			}
		}
		for _, kept := range []*nostr.Event{other, otherList, refused} {
			if k := r.known(t, kept.ID); k.State != store.Remembered {
				t.Errorf("%s: known as %v", kept.Content, k)
			}
		}
	}},
	{"a few at a time", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Event(1, Start, 1, "")
		for i := range 25 {
			r.remember(t, policy.Unrelated, Event(2, Start, 7, fmt.Sprint(i), nostr.Tag{"e", e.ID.String()}))
		}
		r.batch(t, func(b Batch) {
			for want := range 3 {
				n, more, err := b.ForgetOrphans(e, 10)
				if n != min(10, 25-10*want) || more != (want < 2) || err != nil {
					t.Errorf("call %d: %d, %v, %v", want, n, more, err)
				}
			}
		})
		if s := r.Stats(); s.Remembered != 0 {
			t.Errorf("%+v", s)
		}
	}},
	{"announcements and states of a d", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		ann, state := Announcement(1, Start, "x", ""), Event(1, Start, 30618, "", nostr.Tag{"d", "x"})
		held, left := Announcement(2, Start, "x", "held"), Announcement(2, Start+1, "x", "left")
		old, other := Announcement(3, Start, "x", "old"), Announcement(4, Start, "y", "")
		list := Event(1, Start, 30019, "", nostr.Tag{"d", "x"})
		r.add(t, policy.Accept, held)
		r.remember(t, policy.Withdraw, left)
		r.remember(t, policy.Refuse, ann, other, list)
		r.remember(t, policy.Unrelated, state)
		r.remember(t, policy.Superseded, old)
		waited, vain := Event(5, Start, 30618, "", nostr.Tag{"d", "x"}), Announcement(5, Start, "x", "in vain")
		r.remember(t, policy.Lapsed, waited, vain)
		r.batch(t, func(b Batch) {
			if n, more, err := b.ForgetRepository("x", 100); n != 4 || more || err != nil {
				t.Errorf("forgot %d, more %v, %v", n, more, err)
			}
		})
		for _, e := range []*nostr.Event{ann, state, left, waited} {
			if k := r.known(t, e.ID); k.State != store.Unknown {
				t.Errorf("%d %q: known as %v", e.Kind, e.Content, k)
			}
		}
		for _, e := range []*nostr.Event{held, old, other, list, vain} {
			if k := r.known(t, e.ID); k.State != store.Remembered {
				t.Errorf("%d %q: known as %v", e.Kind, e.Content, k)
			}
		}
		later := Announcement(5, Start+1, "x", "in vain again")
		r.remember(t, policy.Lapsed, later, Announcement(6, Start, "x", "in vain"), Announcement(5, Start, "y", "in vain"))
		r.batch(t, func(b Batch) {
			for i, want := range []int{1, 1, 0} {
				if n, err := b.ForgetLapsed(nip34.Address{Kind: 30617, PubKey: later.PubKey, D: "x"}, 1); n != want || err != nil {
					t.Errorf("call %d: %d, %v", i, n, err)
				}
			}
		})
		for e, want := range map[*nostr.Event]store.State{vain: store.Unknown, later: store.Unknown, old: store.Remembered} {
			if k := r.known(t, e.ID); k.State != want {
				t.Errorf("%q: known as %v", e.Content, k)
			}
		}
		r.add(t, policy.Superseded, held) // the slot of what left stays
		r.add(t, policy.Accept, left)
	}},
}
