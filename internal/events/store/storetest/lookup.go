package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var lookupCases = []testCase{
	{"what a decision asks", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		gone := Event(6, Start, 1, "gone", nostr.Tag{"e", Start8})
		soon := Event(7, Start, 30019, "", nostr.Tag{"d", "s"}, nostr.Tag{"expiration", fmt.Sprint(Start + 1)}, nostr.Tag{"a", "soon"})
		refused := Announcement(8, Start, "x", "refused")
		e := Event(1, Start, 30019, "", nostr.Tag{"d", "l"}, nostr.Tag{"e", Start8[:63] + "1"}, nostr.Tag{"E", Start8[:63] + "2"}, nostr.Tag{"q", Start8[:63] + "3"},
			nostr.Tag{"a", "a1"}, nostr.Tag{"A", "a2"}, nostr.Tag{"q", "a3"}, nostr.Tag{"p", "a4"})
		r.add(t, policy.Accept, e, gone, soon)
		r.remember(t, policy.Refuse, refused)
		r.now += 2
		id := func(last string) nostr.ID { v, _ := nostr.ParseID(Start8[:63] + last); return v }
		r.batch(t, func(b Batch) {
			if err := b.Remove(gone.ID, store.ReasonWithdrawn); err != nil {
				t.Fatal(err)
			}
			fresh := Event(9, Start, 1621, "", nostr.Tag{"a", "fresh"})
			add(t, b, policy.Accept, fresh, "fresh")
			for i, k := range []nostr.Kind{nostr.KindMetadata, nostr.KindDeletion, nostr.KindRelayList, 10317, nostr.KindMetadata, 30618} {
				add(t, b, policy.Accept, Event(byte(10+i/4), Start, k, "", nostr.Tag{"d", "x"}), "what people say of themselves")
			}
			for _, q := range []struct {
				what string
				ask  func() (bool, error)
				want bool
			}{
				{"has", func() (bool, error) { return b.Has(e.ID) }, true},
				{"has what is in this batch", func() (bool, error) { return b.Has(fresh.ID) }, true},
				{"has what is gone", func() (bool, error) { return b.Has(gone.ID) }, false},
				{"has what expired", func() (bool, error) { return b.Has(soon.ID) }, false},
				{"has what is remembered", func() (bool, error) { return b.Has(refused.ID) }, false},
				{"has by its author", func() (bool, error) { return b.HasBy(e.ID, Author(1)) }, true},
				{"has by another", func() (bool, error) { return b.HasBy(e.ID, Author(2)) }, false},
				{"has by its author in this batch", func() (bool, error) { return b.HasBy(fresh.ID, Author(9)) }, true},
				{"has by its author what is gone", func() (bool, error) { return b.HasBy(gone.ID, Author(6)) }, false},
				{"has by its author what expired", func() (bool, error) { return b.HasBy(soon.ID, Author(7)) }, false},
				{"has by its author what is remembered", func() (bool, error) { return b.HasBy(refused.ID, Author(8)) }, false},
				{"has by its author what never was", func() (bool, error) { return b.HasBy(nostr.ID{}, nostr.PubKey{}) }, false},
				{"address", func() (bool, error) { return b.HasAddress(e.Address()) }, true},
				{"address of what expired", func() (bool, error) { return b.HasAddress(soon.Address()) }, false},
				{"address of what is remembered", func() (bool, error) { return b.HasAddress(refused.Address()) }, false},
				{"author", func() (bool, error) { return b.HasAuthor(Author(1)) }, true},
				{"author of this batch", func() (bool, error) { return b.HasAuthor(Author(9)) }, true},
				{"author of what is gone", func() (bool, error) { return b.HasAuthor(Author(6)) }, false},
				{"author of what expired", func() (bool, error) { return b.HasAuthor(Author(7)) }, false},
				{"author of what is remembered", func() (bool, error) { return b.HasAuthor(Author(8)) }, false},
				{"takes part", func() (bool, error) { return b.TakesPart(Author(1)) }, true},
				{"takes part by this batch", func() (bool, error) { return b.TakesPart(Author(9)) }, true},
				{"takes part by what is gone", func() (bool, error) { return b.TakesPart(Author(6)) }, false},
				{"takes part by what expired", func() (bool, error) { return b.TakesPart(Author(7)) }, false},
				{"takes part by what is remembered", func() (bool, error) { return b.TakesPart(Author(8)) }, false},
				{"takes part by a profile, a list and a deletion", func() (bool, error) { return b.TakesPart(Author(10)) }, false},
				{"takes part by a profile and a state", func() (bool, error) { return b.TakesPart(Author(11)) }, true},
				{"named by e", func() (bool, error) { return b.Named(id("1"), "") }, true},
				{"named by E", func() (bool, error) { return b.Named(id("2"), "") }, true},
				{"id named by q", func() (bool, error) { return b.Named(id("3"), "") }, true},
				{"not named", func() (bool, error) { return b.Named(id("4"), "") }, false},
				{"named by a", func() (bool, error) { return b.Named(nostr.ID{}, "a1") }, true},
				{"named by A", func() (bool, error) { return b.Named(nostr.ID{}, "a2") }, true},
				{"address named by q", func() (bool, error) { return b.Named(nostr.ID{}, "a3") }, true},
				{"named by p only", func() (bool, error) { return b.Named(nostr.ID{}, "a4") }, false},
				{"named in this batch", func() (bool, error) { return b.Named(nostr.ID{}, "fresh") }, true},
				{"named by what is gone", func() (bool, error) { return b.Named(id("a"), "") }, false},
				{"named by what expired", func() (bool, error) { return b.Named(nostr.ID{}, "soon") }, false},
			} {
				if got, err := q.ask(); got != q.want || err != nil {
					t.Errorf("%s: %v, %v", q.what, got, err)
				}
			}
		})
	}},
	{"announcements in order of first acceptance", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		for i := range 6 {
			r.add(t, policy.Accept, Announcement(byte(i), Start-int64(i), "x", ""), Announcement(byte(i), Start, "y", ""))
		}
		newer := Announcement(2, Start+1, "x", "newer") // keeps its author's place
		r.add(t, policy.Accept, newer, Deletion(4, Start+1, nostr.Tag{"a", Address(4, 30617, "x")}))
		again := Announcement(4, Start+2, "x", "again") // comes last: it was gone
		r.add(t, policy.Accept, again, Event(1, Start, 30618, "", nostr.Tag{"d", "x"}))
		r.reopen(t)
		r.batch(t, func(b Batch) {
			list, err := b.Announcements("x")
			if err != nil {
				t.Fatal(err)
			}
			var authors []byte
			for _, e := range list {
				authors = append(authors, e.PubKey[31])
			}
			if string(authors) != "\x00\x01\x02\x03\x05\x04" || list[2].ID != newer.ID || list[5].ID != again.ID {
				t.Errorf("authors %v", authors)
			}
			if list, err := b.Announcements("z"); len(list) != 0 || err != nil {
				t.Errorf("unknown d: %d, %v", len(list), err)
			}
		})
	}},
	{"announcements that left", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a, b, c := Announcement(1, Start, "a", ""), Announcement(1, Start, "b", ""), Announcement(1, Start, "c", "")
		r.add(t, policy.Accept, a, b, c, Event(1, Start, 30618, "", nostr.Tag{"d", "s"}))
		r.batch(t, func(batch Batch) {
			add(t, batch, policy.Accept, Deletion(1, Start+1, nostr.Tag{"e", a.ID.String()}, nostr.Tag{"a", Address(1, 30618, "s")}), "deletion")
			add(t, batch, policy.Accept, Announcement(1, Start+1, "b", "newer"), "newer")
			if err := batch.Remember(Announcement(1, Start+1, "c", "left"), policy.Withdraw); err != nil {
				t.Fatal(err)
			}
			if lost := batch.LostRepositories(); !slices.Equal(lost, []string{"a", "c"}) {
				t.Errorf("lost %q", lost)
			}
			if lost := batch.LostRepositories(); len(lost) != 0 {
				t.Errorf("lost again: %q", lost)
			}
		})
	}},
	{"at most a thousand announcements, the first ones", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		var first *nostr.Event
		r.batch(t, func(b Batch) {
			for i := range 1010 {
				e := &nostr.Event{PubKey: nostr.PubKey{byte(i >> 8), byte(i)}, CreatedAt: Start + int64(i), Kind: 30617, Tags: nostr.Tags{{"d", "x"}}}
				e.ID = e.ComputeID()
				add(t, b, policy.Accept, e, i)
				if i == 0 {
					first = e
				}
			}
			list, err := b.Announcements("x")
			if err != nil || len(list) != policy.MaxAnnouncements || list[0].ID != first.ID {
				t.Errorf("%d announcements, %v", len(list), err)
			}
		})
	}},
}
