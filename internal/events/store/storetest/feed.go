package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var feedCases = []testCase{
	{"entries come in order, in pages of any size", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		var events []*nostr.Event
		for i := range 20 {
			events = append(events, Event(1, Start-int64(i), 1, fmt.Sprint(i)))
		}
		r.add(t, policy.Accept, events[:7]...)
		r.add(t, policy.Accept, events[7:]...)
		for range 2 { // from memory, then from disk
			for page := 1; page <= 21; page += 5 {
				var got []nostr.ID
				for i, e := range feed(t, r, 0, page) {
					if e.Seq != store.Seq(i+1) || e.Event == nil || e.Source != store.Live {
						t.Fatalf("entry %d: %+v", i, e)
					}
					got = append(got, e.Event.ID)
				}
				wantIDs(t, fmt.Sprintf("pages of %d", page), got, idsOf(events...))
			}
			if n := len(feed(t, r, 15, 100)); n != 5 {
				t.Errorf("after 15: %d entries", n)
			}
			if n := len(feed(t, r, 100, 100)); n != 0 {
				t.Errorf("after the head: %d entries", n)
			}
			r.reopen(t)
		}
	}},
	{"a commit wakes who waits", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		_, changed, err := r.Since(0, 10)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
			t.Fatal("woken before anything happened")
		default:
		}
		r.add(t, policy.Accept, Event(1, Start, 1, ""))
		select {
		case <-changed:
		default:
			t.Fatal("not woken by a commit")
		}
		_, changed, _ = r.Since(1, 10)
		select {
		case <-changed:
			t.Fatal("the new channel is closed already")
		default:
		}
	}},
	{"removals are told, with their reason", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		reasons := []store.Reason{store.ReasonDeleted, store.ReasonReplaced, store.ReasonExpired, store.ReasonVanished, store.ReasonWithdrawn}
		var events []*nostr.Event
		for i := range reasons {
			events = append(events, Event(1, Start, 1, fmt.Sprint(i)))
		}
		head := r.add(t, policy.Accept, events...)
		r.batch(t, func(b Batch) {
			for i, why := range reasons {
				if err := b.Remove(events[i].ID, why); err != nil {
					t.Fatal(err)
				}
			}
		})
		for i, e := range feed(t, r, head, 2) {
			if e.Event != nil || e.Removed != events[i].ID || e.Reason != reasons[i] || e.Seq != head+store.Seq(i)+1 {
				t.Errorf("entry %+v, want the removal of %s, %s", e, events[i].ID, reasons[i])
			}
		}
	}},
	{"what came and went in one batch was never there", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		old, new := Announcement(1, Start, "x", "old"), Announcement(1, Start+1, "x", "new")
		r.add(t, policy.Accept, old, new)
		var got []string
		for _, e := range feed(t, r, 0, 10) {
			if e.Event != nil {
				got = append(got, e.Event.Content)
			} else if e.Removed == old.ID {
				got = append(got, "-old")
			}
		}
		if !slices.Equal(got, []string{"new", "-old"}) {
			t.Errorf("feed: %v", got)
		}
	}},
	{"removing twice, or what is not there, does nothing", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Event(1, Start, 1, "")
		r.add(t, policy.Accept, e)
		head := r.batch(t, func(b Batch) {
			for _, id := range []nostr.ID{e.ID, e.ID, {1}} {
				if err := b.Remove(id, store.ReasonWithdrawn); err != nil {
					t.Fatal(err)
				}
			}
		})
		if head != 2 {
			t.Errorf("head %d", head)
		}
	}},
	{"a reader that comes late finds everything, whatever its size", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		var want []nostr.ID
		for i := range 50 {
			e := Event(1, Start, 1, fmt.Sprint(i)+strings.Repeat("x", 300_000))
			want = append(want, e.ID)
			r.add(t, policy.Accept, e)
		}
		var got []nostr.ID
		for _, e := range feed(t, r, 0, 1000) {
			got = append(got, e.Event.ID)
		}
		wantIDs(t, "feed", got, want)
	}},
}
