package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// wait commits events that wait for a minute each, and wants one outcome of all.
func (r *rig) wait(t testing.TB, want policy.Outcome, events ...*nostr.Event) store.Seq {
	t.Helper()
	return r.batch(t, func(b Batch) {
		for _, e := range events {
			out, err := b.Wait(e, store.Wait{Source: store.Live, Came: r.now, Until: r.now + 60, From: "wss://a"})
			if err != nil || out != want {
				t.Errorf("wait: %v, %v, want %v", out, err, want)
			}
		}
	})
}

// lapse ends waits.
func (r *rig) lapse(t testing.TB, max int) (next time.Time, n int) {
	t.Helper()
	return r.lapseBut(t, max, nil)
}

// lapseBut ends waits but those that are kept.
func (r *rig) lapseBut(t testing.TB, max int, keep func(*nostr.Event) bool) (next time.Time, n int) {
	t.Helper()
	r.batch(t, func(b Batch) {
		var err error
		if next, n, err = b.LapseDue(time.Unix(r.now, 0), max, nil, keep); err != nil {
			t.Fatal(err)
		}
	})
	return next, n
}

// unseen wants nothing that serves events to show one.
func (r *rig) unseen(t testing.TB, events ...*nostr.Event) {
	t.Helper()
	v := r.View()
	defer v.Close()
	for _, e := range events {
		address, f := e.Address(), nostr.Filter{Authors: []nostr.PubKey{e.PubKey}}
		wantIDs(t, "query by id", slices.DeleteFunc(r.query(t, nostr.Filter{IDs: idsOf(e)}), func(nostr.ID) bool { return false }), nil)
		if slices.Contains(r.query(t, f), e.ID) || slices.Contains(r.pairs(t, f, false), e.ID) {
			t.Error("a query shows what waits")
		}
		if _, ok, err := v.Get(e.ID); ok || err != nil {
			t.Errorf("got what waits, %v", err)
		}
		for row, err := range v.About(t.Context(), idsIn(e), []string{address}) {
			if err != nil || row.ID == e.ID {
				t.Errorf("what is about it shows it, %v", err)
			}
		}
		if n, err := v.Count(t.Context(), []nostr.Filter{{IDs: idsOf(e)}}); n != 0 || err != nil {
			t.Errorf("%d counted, %v", n, err)
		}
		r.batch(t, func(b Batch) {
			has, err := b.Has(e.ID)
			by, err2 := b.HasBy(e.ID, e.PubKey)
			if has || by || err != nil || err2 != nil {
				t.Errorf("the batch has it: %v %v, %v %v", has, by, err, err2)
			}
			if list, err := b.Announcements(e.Tags.D()); err != nil || slices.ContainsFunc(list, func(x *nostr.Event) bool { return x.ID == e.ID }) {
				t.Errorf("it is announced, %v", err)
			}
		})
	}
}

// idsIn are the ids that an event names.
func idsIn(e *nostr.Event) (ids []nostr.ID) {
	for _, tag := range e.Tags {
		if id, err := nostr.ParseID(tag.Value()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

var waitCases = []testCase{
	{"durable, known, and shown by nothing", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		other := nostr.ID{7}
		e := Event(1, Start, 30617, "", nostr.Tag{"d", "x"}, nostr.Tag{"e", other.String()})
		pr := Event(2, Start, 1618, "", nostr.Tag{"e", other.String()})
		r.wait(t, policy.Wait, e, pr)
		for range 2 {
			r.unseen(t, e, pr)
			if k := r.known(t, e.ID); k.State != store.InWaiting || k.Time != Start {
				t.Errorf("known as %+v", k)
			}
			wantIDs(t, "our own sets", r.pairs(t, tagged('e', other.String()), true), inOrder(e, pr))
			s := r.Stats()
			if s.Waiting != 2 || s.WaitingBytes != int64(len(e.AppendJSON(nil))+len(pr.AppendJSON(nil))) || s.Events != 0 || s.Remembered != 0 || s.Repositories != 0 {
				t.Errorf("%+v", s)
			}
			v := r.View()
			w, err := v.Waiting(e.ID)
			if err != nil || w.Event == nil || w.Event.ID != e.ID || w.Wait != (store.Wait{Source: store.Live, Came: Start, Until: Start + 60, From: "wss://a"}) {
				t.Errorf("%+v, %v", w, err)
			}
			v.Close()
			r.reopen(t)
		}
	}},
	{"released with the others of its batch", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a := Announcement(1, Start, "x", "")
		s := Event(1, Start, 30618, "", nostr.Tag{"d", "x"})
		r.wait(t, policy.Wait, a, s)
		r.add(t, policy.Accept, a, s)
		if n := len(r.query(t, nostr.Filter{})); n != 2 || r.Stats().Waiting != 0 {
			t.Errorf("%d served, %+v", n, r.Stats())
		}
		if k := r.known(t, a.ID); k.State != store.Stored {
			t.Errorf("known as %+v", k)
		}
		for _, x := range feed(t, r, 0, 10) {
			if x.Event == nil && x.Waits == nil {
				t.Errorf("the feed tells that %s left", x.Removed)
			}
		}
		if next, n := r.lapse(t, 10); n != 0 || !next.IsZero() {
			t.Errorf("%d lapse, the next at %v", n, next)
		}
	}},
	{"twice", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Announcement(1, Start, "x", "")
		r.wait(t, policy.Wait, e)
		head := r.wait(t, policy.Duplicate, e)
		if head != 1 {
			t.Errorf("head %d", head)
		}
		r.add(t, policy.Accept, e)
		r.wait(t, policy.Duplicate, e)
	}},
	{"a served and a waiting version of one address", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		s := func(at int64) *nostr.Event { return Event(1, at, 30618, "", nostr.Tag{"d", "x"}) }
		served, waits, older, between, newer := s(Start), s(Start+20), s(Start-5), s(Start+10), s(Start+30)
		r.add(t, policy.Accept, served)
		r.wait(t, policy.Wait, waits)
		wantIDs(t, "served", r.query(t, nostr.Filter{}), idsOf(served))
		r.wait(t, policy.Superseded, older, between)
		r.add(t, policy.Accept, between) // what has its data does not wait for a newer one
		wantIDs(t, "served", r.query(t, nostr.Filter{}), idsOf(between))
		r.wait(t, policy.Wait, newer)
		if k := r.known(t, waits.ID); k.State != store.Remembered || k.Why != policy.Superseded {
			t.Errorf("the older one is known as %+v", k)
		}
		newest := s(Start + 40)
		r.add(t, policy.Accept, newest)
		if k := r.known(t, newer.ID); k.Why != policy.Superseded || r.Stats().Waiting != 0 {
			t.Errorf("known as %+v, %+v", k, r.Stats())
		}
		r.unseen(t, waits, newer)
	}},
	{"withdrawn by a newer version", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Announcement(1, Start, "x", "")
		r.wait(t, policy.Wait, e)
		r.remember(t, policy.Withdraw, Announcement(1, Start+1, "x", "elsewhere"))
		if k := r.known(t, e.ID); k.Why != policy.Superseded || r.Stats().Waiting != 0 {
			t.Errorf("known as %+v", k)
		}
	}},
	{"goes on for a minute at a time while it is kept", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a, b := Event(1, Start, 1618, "a"), Event(1, Start, 1618, "b")
		c := Event(1, Start, 1618, "c", nostr.Tag{"expiration", fmt.Sprint(Start + 80)})
		r.wait(t, policy.Wait, a, b, c)
		r.now = Start + 61
		kept := func(e *nostr.Event) bool { return e.ID != a.ID }
		if next, n := r.lapseBut(t, 10, kept); n != 3 || next.Unix() != Start+80 {
			t.Errorf("%d looked at, the next at %v", n, next)
		}
		if r.known(t, a.ID).State == store.InWaiting || r.known(t, b.ID).State != store.InWaiting {
			t.Error("another one is kept")
		}
		r.now = Start + 80
		if next, n := r.lapseBut(t, 10, kept); n != 1 || next.Unix() != Start+61+60 || r.known(t, c.ID).State == store.InWaiting {
			t.Errorf("%d looked at, the next at %v", n, next)
		}
		r.now = Start + 61 + 60
		if _, n := r.lapse(t, 10); n != 1 || r.known(t, b.ID).Why != policy.Lapsed {
			t.Errorf("%d lapsed", n)
		}
	}},
	{"lapses in the order of its ends, and may come again", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a, b, c := Event(1, Start, 1618, "a"), Event(1, Start, 1618, "b"), Event(1, Start, 1618, "c", nostr.Tag{"expiration", fmt.Sprint(Start + 30)})
		r.wait(t, policy.Wait, a, b, c)
		r.batch(t, func(x Batch) {
			if err := x.Postpone(a.ID, Start+100); err != nil {
				t.Error(err)
			}
			if err := x.Postpone(c.ID, Start+100); err != nil {
				t.Error(err)
			}
			if err := x.Postpone(nostr.ID{9}, Start+100); err != nil {
				t.Error(err)
			}
		})
		r.now = Start + 29
		if next, n := r.lapse(t, 10); n != 0 || next.Unix() != Start+30 {
			t.Errorf("%d, next %v", n, next)
		}
		r.now = Start + 70
		if next, n := r.lapse(t, 1); n != 1 || next.Unix() != Start+60 {
			t.Errorf("%d, next %v", n, next)
		}
		if next, n := r.lapse(t, 10); n != 1 || next.Unix() != Start+100 {
			t.Errorf("%d, next %v", n, next)
		}
		for e, why := range map[*nostr.Event]policy.Outcome{b: policy.Lapsed, c: policy.Expired} {
			if k := r.known(t, e.ID); k.State != store.Remembered || k.Why != why {
				t.Errorf("%s: known as %+v", e.Content, k)
			}
		}
		r.wait(t, policy.Wait, b)
		r.wait(t, policy.Expired, c)
		last := feed(t, r, 0, 100)
		if x := last[len(last)-1]; x.Waits == nil || x.Waits.ID != b.ID {
			t.Errorf("the feed ends with %+v", x)
		}
	}},
	{"ended by its author", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		byID, byAddress, another := Event(1, Start, 1618, "a"), Announcement(1, Start, "x", ""), Event(2, Start, 1618, "b")
		later := Announcement(1, Start+50, "y", "")
		r.wait(t, policy.Wait, byID, byAddress, another, later)
		r.add(t, policy.Accept, Event(1, Start+1, nostr.KindDeletion, "", nostr.Tag{"e", byID.ID.String()}, nostr.Tag{"e", another.ID.String()},
			nostr.Tag{"a", byAddress.Address()}, nostr.Tag{"a", later.Address()}))
		for e, want := range map[*nostr.Event]store.Knowledge{
			byID: {State: store.Remembered, Why: policy.Deleted, Time: Start}, byAddress: {State: store.Remembered, Why: policy.Deleted, Time: Start},
			another: {State: store.InWaiting, Time: Start}, later: {State: store.InWaiting, Time: Start + 50},
		} {
			if k := r.known(t, e.ID); k != want {
				t.Errorf("known as %+v, want %+v", k, want)
			}
		}
		r.wait(t, policy.Deleted, byID, byAddress)
		r.add(t, policy.Accept, Event(1, Start+20, nostr.KindVanish, "", nostr.Tag{"relay", "ALL_RELAYS"}))
		if k := r.known(t, later.ID); k.State != store.InWaiting {
			t.Errorf("newer than the request: known as %+v", k)
		}
		r.add(t, policy.Accept, Event(2, Start+20, nostr.KindVanish, "", nostr.Tag{"relay", "ALL_RELAYS"}))
		if k := r.known(t, another.ID); k.Why != policy.Vanished {
			t.Errorf("known as %+v", k)
		}
	}},
	{"by author and by repository", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		x1, x2, y := Announcement(1, Start, "x", ""), Announcement(2, Start, "x", ""), Announcement(1, Start, "y", "")
		r.wait(t, policy.Wait, x1, x2, y)
		r.batch(t, func(b Batch) {
			list, err := b.WaitingAnnouncements("x")
			if err != nil || fmt.Sprint(idsOf(list...)) != fmt.Sprint(idsOf(x1, x2)) {
				t.Errorf("%v, %v", list, err)
			}
			var of []nostr.ID
			if err := b.EachWaitOf(Author(1), func(w store.Waiting) error { of = append(of, w.Event.ID); return nil }); err != nil || !slices.Equal(of, idsOf(x1, y)) {
				t.Errorf("%v, %v", of, err)
			}
			if s, ok, err := b.WaitingAt(x2.Address()); err != nil || !ok || s != x2.Stamp() {
				t.Errorf("%v %v, %v", s, ok, err)
			}
		})
	}},
	{"tallied, and the oldest found", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		long := strings.Repeat("s", 300)
		var size int64
		wait := func(b Batch, e *nostr.Event, from string) {
			t.Helper()
			if out, err := b.Wait(e, store.Wait{Until: Start + 60, From: from}); out != policy.Wait || err != nil {
				t.Fatalf("%v, %v", out, err)
			}
			size += int64(len(e.AppendJSON(nil)))
		}
		want := func(b Batch, author byte, from string, counts [4]int, oldest ...*nostr.Event) {
			t.Helper()
			if got := b.WaitTally(Author(author), from); got != (store.WaitTally{Announcements: counts[0], OfAuthor: counts[1], OfSource: counts[2], All: counts[3], Bytes: size}) {
				t.Errorf("%+v, want %v and %d bytes", got, counts, size)
			}
			for i, e := range oldest {
				w, ok, err := b.OldestWait(store.WaitGroup(i), Author(author), from)
				if err != nil || ok != (e != nil) || ok && (w.Event.ID != e.ID || w.Until != Start+60) {
					t.Errorf("group %d: %v %s, %v", i, ok, told(w), err)
				}
			}
		}
		p1, a1, a2 := Event(1, Start, 1618, "first"), Announcement(1, Start, "x", ""), Announcement(1, Start-9, "y", "")
		p2, p3, p4 := Event(2, Start, 1618, "a"), Event(2, Start, 1618, "b"), Event(3, Start, 1618, "c")
		r.batch(t, func(b Batch) {
			want(b, 1, "a", [4]int{}, nil, nil, nil, nil)
			wait(b, p1, "a")
			wait(b, a1, "a")
			wait(b, a2, "b")
			want(b, 1, "a", [4]int{2, 3, 2, 3}, a1, p1, p1, p1)
			wait(b, p2, "b")
			want(b, 2, "b", [4]int{0, 1, 2, 4}, nil, p2, a2, p1)
			wait(b, p3, "b")
			wait(b, p4, long)
			want(b, 2, "b", [4]int{0, 2, 3, 6}, nil, p2, a2, a2)
			want(b, 3, long, [4]int{0, 1, 1, 6}, nil, p4, p4, a2)
			want(b, 9, "z", [4]int{0, 0, 0, 6}, nil, nil, nil, a2)
		})
		r.reopen(t)
		r.batch(t, func(b Batch) {
			want(b, 1, "b", [4]int{2, 3, 3, 6}, a1, p1, a2, a2)
			want(b, 3, long, [4]int{0, 1, 1, 6}, nil, p4, p4, a2)
			if err := b.EndWait(a2.ID, policy.Lapsed); err != nil {
				t.Fatal(err)
			}
			add(t, b, policy.Accept, a1, "released")
			size -= int64(len(a2.AppendJSON(nil)) + len(a1.AppendJSON(nil)))
			want(b, 1, "a", [4]int{0, 1, 1, 4}, nil, p1, p1, p2)
		})
		b, err := r.Begin()
		if err != nil {
			t.Fatal(err)
		}
		before := size
		for _, e := range []*nostr.Event{p1, p2, p3, p4} {
			if err := b.EndWait(e.ID, policy.Lapsed); err != nil {
				t.Fatal(err)
			}
			size -= int64(len(e.AppendJSON(nil)))
		}
		want(b, 1, "a", [4]int{}, nil, nil, nil, nil)
		wait(b, Event(1, Start, 1618, "never"), "c")
		b.Discard()
		size = before
		r.batch(t, func(b Batch) {
			want(b, 1, "a", [4]int{0, 1, 1, 4}, nil, p1, p1, p2)
			want(b, 1, "c", [4]int{0, 1, 0, 4}, nil, p1, nil, p2)
		})
	}},
	{"counted by kind", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		want := func(when string, announcements, states, pullRequests, updates int64) {
			t.Helper()
			if got := r.Stats().WaitingByKind; got != (store.WaitsByKind{Announcements: announcements, States: states, PullRequests: pullRequests, Updates: updates}) {
				t.Errorf("%s: %+v", when, got)
			}
		}
		want("at first", 0, 0, 0, 0)
		a, s, u := Announcement(1, Start, "x", ""), Event(1, Start, 30618, "", nostr.Tag{"d", "x"}), Event(2, Start, 1619, "u")
		r.wait(t, policy.Wait, a, Announcement(2, Start, "x", ""), s, Event(1, Start, 30618, "", nostr.Tag{"d", "y"}), Event(2, Start, 30618, "", nostr.Tag{"d", "x"}))
		r.wait(t, policy.Wait, Event(1, Start, 1618, "p"), u, Event(3, Start, 1619, strings.Repeat("u", 9000)), Event(3, Start, 1619, ""), Event(3, Start, 1619, "v"))
		r.wait(t, policy.Wait, Event(3, Start, 1617, "counts as none of these"))
		want("after commits", 2, 3, 1, 4)
		r.reopen(t)
		want("opened again", 2, 3, 1, 4)
		b, err := r.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := b.Wait(Event(4, Start, 1618, "p"), store.Wait{}); out != policy.Wait || err != nil {
			t.Errorf("%v, %v", out, err)
		}
		add(t, b, policy.Accept, s, "released")
		if err := b.EndWait(u.ID, policy.Lapsed); err != nil {
			t.Error(err)
		}
		want("in the middle of a batch", 2, 3, 1, 4)
		b.Discard()
		want("after a batch that is dropped", 2, 3, 1, 4)
		r.add(t, policy.Accept, a, u)
		r.wait(t, policy.Wait, Event(2, Start+1, 30618, "", nostr.Tag{"d", "x"}))
		want("after two that are served and a newer state", 1, 3, 1, 3)
		r.reopen(t)
		want("and opened again", 1, 3, 1, 3)
	}},
	{"no batch that is dropped changes what waits", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Announcement(1, Start, "x", "")
		r.wait(t, policy.Wait, e)
		b, err := r.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.EndWait(e.ID, policy.Lapsed); err != nil {
			t.Error(err)
		}
		if out, err := b.Wait(Announcement(2, Start, "x", ""), store.Wait{}); out != policy.Wait || err != nil {
			t.Errorf("%v, %v", out, err)
		}
		b.Discard()
		if k := r.known(t, e.ID); k.State != store.InWaiting || r.Stats().Waiting != 1 {
			t.Errorf("known as %+v, %+v", k, r.Stats())
		}
	}},
}

// inOrder are the ids of events in the order of a query.
func inOrder(events ...*nostr.Event) []nostr.ID {
	slices.SortFunc(events, newestFirst)
	return idsOf(events...)
}
