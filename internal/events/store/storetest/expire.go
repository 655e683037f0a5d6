package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func expiring(at int64, content string) *nostr.Event {
	return Event(1, Start, 1621, content, nostr.Tag{"expiration", fmt.Sprint(at)}, nostr.Tag{"a", "x"})
}

// sweep removes what has expired, all of it.
func (r *rig) sweep(t testing.TB, max int) (next time.Time, n int) {
	t.Helper()
	r.batch(t, func(b Batch) {
		var err error
		if next, n, err = b.ExpireDue(time.Unix(r.now, 0), max, nil); err != nil {
			t.Fatal(err)
		}
	})
	return next, n
}

var expireCases = []testCase{
	{"expired events are refused, others are not", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		r.add(t, policy.Expired, expiring(Start-1, ""), expiring(Start, ""), expiring(-5, ""))
		r.add(t, policy.Accept, expiring(Start+1, ""), Event(1, Start, 1, "", nostr.Tag{"expiration", "soon"}), Event(1, Start, 1, "", nostr.Tag{"expiration"}),
			Event(1, Start, 1, "", nostr.Tag{"expiration", "9223372036854775807"}))
	}},
	{"expired events are not shown, swept or not", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e, stays := expiring(Start+10, ""), Event(1, Start, 1, "")
		r.add(t, policy.Accept, e, stays)
		r.now += 10
		check := func(when string) {
			t.Helper()
			for _, f := range []nostr.Filter{{IDs: idsOf(e)}, {Kinds: []nostr.Kind{1621}}, {Authors: []nostr.PubKey{e.PubKey}, Kinds: []nostr.Kind{1621}}, tagged('a', "x")} {
				wantIDs(t, when+": query", r.query(t, f), nil)
				wantIDs(t, when+": pairs", r.pairs(t, f, false), nil)
				wantIDs(t, when+": flagged pairs", r.pairs(t, f, true), idsOf(e))
			}
			wantIDs(t, when+": all", r.query(t, nostr.Filter{}), idsOf(stays))
			v := r.View()
			defer v.Close()
			if _, ok, err := v.Get(e.ID); ok || err != nil {
				t.Errorf("%s: get: %v, %v", when, ok, err)
			}
		}
		check("before the sweep")
		if next, n := r.sweep(t, 10); n != 1 || !next.IsZero() {
			t.Errorf("swept %d, next %v", n, next)
		}
		check("after the sweep")
		r.add(t, policy.Expired, e)
		entries := feed(t, r, 2, 10)
		if len(entries) != 1 || entries[0].Removed != e.ID || entries[0].Reason != store.ReasonExpired {
			t.Errorf("feed: %+v", entries)
		}
	}},
	{"a sweep is bounded, goes in order and says when to come again", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		if next, n := r.sweep(t, 10); n != 0 || !next.IsZero() {
			t.Errorf("of nothing: %d, %v", n, next)
		}
		var events []*nostr.Event
		for i := range 10 {
			events = append(events, expiring(Start+10-int64(i), fmt.Sprint(i)))
		}
		r.add(t, policy.Accept, events...)
		if next, n := r.sweep(t, 10); n != 0 || next.Unix() != Start+1 {
			t.Errorf("too early: %d, %v", n, next.Unix())
		}
		r.now += 5
		if next, n := r.sweep(t, 3); n != 3 || next.Unix() != Start+4 {
			t.Errorf("bounded: %d, %v", n, next.Unix())
		}
		r.reopen(t)
		if next, n := r.sweep(t, 3); n != 2 || next.Unix() != Start+6 {
			t.Errorf("the rest: %d, %v", n, next.Unix())
		}
		r.add(t, policy.Accept, expiring(Start+6, "late"))
		r.now = Start + 100
		if next, n := r.sweep(t, 100); n != 6 || !next.IsZero() {
			t.Errorf("all: %d, %v", n, next)
		}
	}},
	{"a discarded sweep is done again", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		r.add(t, policy.Accept, expiring(Start+1, ""))
		r.now += 2
		b, err := r.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, n, err := b.ExpireDue(time.Unix(r.now, 0), 9, nil); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		b.Discard()
		if _, n := r.sweep(t, 9); n != 1 {
			t.Errorf("swept %d", n)
		}
	}},
	{"the version before an expired one does not come back while that is remembered", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		old := Announcement(1, Start, "x", "old")
		new := Event(1, Start+1, 30617, "", nostr.Tag{"d", "x"}, nostr.Tag{"expiration", fmt.Sprint(Start + 10)})
		r.add(t, policy.Accept, old, new)
		r.now += 20
		r.sweep(t, 9)
		r.add(t, policy.Superseded, old)
		r.now += 9 * 24 * 3600
		r.add(t, policy.Accept, Event(2, Start, 1, ""))
		r.add(t, policy.Accept, old)
	}},
}
