package peer_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// What a relay did not bear one day it may bear the next: limits that were
// learned are forgotten by the full resync, and those that still hold are
// learned again.
func TestFullResyncLearnsLimitsUpward(t *testing.T) {
	f, _ := small(t, 700)
	d := newDriver(t, peer.Config{NoNegentropy: true, MaxTags: 50})
	subs, values, filters, page := 5, 20, 4, 100
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		closed := func(text string) nostr.RelayMessage { return nostr.Closed{Sub: r.Sub, Reason: text} }
		if len(d.open) > subs {
			return closed("ERROR: too many concurrent REQs")
		}
		if len(r.Filters) > filters {
			return closed("ERROR: bad req: arr too big")
		}
		for _, x := range r.Filters {
			if len(x.Tags) > 0 && len(x.Tags[0].Values) > values {
				return closed("too many tag values")
			}
			if *x.Limit > page {
				return closed("error: limit too high")
			}
		}
		return nil
	}
	d.connect(f.Wants[here], capacity.Limits{})
	d.pass(22 * time.Hour)
	before := d.peer.Status()
	if before.SweptRoots == 0 || !d.peer.AllConfirmed() {
		t.Fatalf("the relay is not narrow: %+v", before)
	}
	// The same relay, the next day.
	d.pass(4 * time.Hour)
	if s := d.peer.Status(); s.SweptRoots == 0 || !d.peer.AllConfirmed() || s.LiveREQs > 5 {
		t.Errorf("a relay that is as narrow as before: %+v", s)
	}
	// And a wider one.
	subs, values, filters, page = 100, 1000, 100, 1000
	d.sent = nil
	d.pass(25 * time.Hour)
	largest, limit := 0, 0
	for _, r := range d.requests(peer.Live, peer.Daily) {
		for _, x := range r.Filters {
			if len(x.Tags) > 0 {
				largest = max(largest, len(x.Tags[0].Values))
			}
			limit = max(limit, *x.Limit)
		}
	}
	if s := d.peer.Status(); s.SweptRoots != 0 || !d.peer.AllConfirmed() || largest != 50 || limit != 500 {
		t.Errorf("%d values, limit %d, %+v", largest, limit, s)
	}
}

// Half the concurrency after a request to slow down lasts until the full resync.
func TestFullResyncForgivesHaste(t *testing.T) {
	_, w := small(t, 300)
	d := newDriver(t, peer.Config{NoNegentropy: true, MaxTags: 20})
	d.connect(w, capacity.Limits{})
	atOnce := func() int {
		n, open := 0, 0
		d.refuse = func(r peer.Request) nostr.RelayMessage {
			if r.Class != peer.Live {
				open = 0
				for _, q := range d.open {
					if q.Class != peer.Live {
						open++
					}
				}
				n = max(n, open)
			}
			return nil
		}
		d.pass(25 * time.Hour)
		d.refuse = nil
		return n
	}
	d.do(peer.Frame{Message: nostr.Notice{Text: "rate limit exceeded, slow down"}})
	d.pass(20 * time.Hour)
	if n := atOnce(); n != 2 {
		t.Errorf("%d requests at once in the full resync", n)
	}
}

// An event that was shown and not delivered is asked for again by the next full
// resync, and counts once for each that it fails.
func TestUndeliveredIsAskedAgainByTheFullResync(t *testing.T) {
	l := newLibrary(150)
	_, w := small(t, 0)
	d := l.reader(t, 500)
	lost, serve, withheld := l.events[3].ID, d.serve, true
	d.serve = func(sub string, filters []nostr.Filter) []*nostr.Event {
		out := serve(sub, filters)
		if withheld {
			delete(l.ours, lost)
			out = slices.DeleteFunc(out, func(e *nostr.Event) bool { return e.ID == lost })
		}
		return out
	}
	d.connect(w, capacity.Limits{})
	for day, want := range []uint64{1, 2} {
		if got := d.peer.Status().Counters.Undelivered; got != want {
			t.Errorf("day %d: %d undelivered", day, got)
		}
		d.sent = nil
		d.pass(25 * time.Hour)
		if _, times := d.byIDs(); times[lost] != 2 {
			t.Errorf("day %d: asked for %d times", day, times[lost])
		}
	}
	withheld = false
	d.pass(25 * time.Hour)
	if s := d.peer.Status(); !l.ours[lost] || s.Counters.Undelivered != 3 || !d.peer.AllConfirmed() {
		t.Errorf("here %v, %d undelivered", l.ours[lost], s.Counters.Undelivered)
	}
}

// Pages are not read every day for the same events that never come; once a week
// they are, and at once for another one.
func TestUndeliveredIsPagedForOnceAWeek(t *testing.T) {
	l := newLibrary(150)
	_, w := small(t, 0)
	d := l.reader(t, 500)
	serve, lost := d.serve, map[nostr.ID]bool{l.events[3].ID: true, l.events[9].ID: true}
	d.serve = func(sub string, filters []nostr.Filter) []*nostr.Event {
		out := serve(sub, filters)
		maps.DeleteFunc(l.ours, func(id nostr.ID, _ bool) bool { return lost[id] })
		return slices.DeleteFunc(out, func(e *nostr.Event) bool { return lost[e.ID] })
	}
	paged := func() int {
		n := 0
		for _, r := range d.requests(peer.Catchup, peer.Daily) {
			if f := r.Filters[0]; f.IDs == nil && *f.Limit > 5 && !d.peer.AsksReferences(r.Sub) {
				n++
			}
		}
		d.sent = nil
		return n
	}
	d.connect(w, capacity.Limits{})
	if paged() == 0 {
		t.Fatal("what was not delivered was not looked for in pages")
	}
	for day := 1; day <= 13; day++ {
		if day == 4 {
			lost[l.events[20].ID] = true
			delete(l.ours, l.events[20].ID)
		}
		d.pass(24*time.Hour + 30*time.Minute)
		if n := paged(); (n > 0) != (day == 4 || day == 12) {
			t.Errorf("day %d: %d pages", day, n)
		}
	}
	if s := d.peer.Status(); !d.peer.AllConfirmed() || s.Counters.Undelivered < 20 {
		t.Errorf("%+v", s)
	}
}

// A live REQ that the relay lost counts as open, and nothing tells that it is not:
// it is sent again by the next full resync.
func TestALiveREQWithoutAnAnswerIsSentAgain(t *testing.T) {
	_, w := small(t, 40)
	d := newDriver(t, peer.Config{MaxTags: 10, NoNegentropy: true})
	var swallowed []string
	d.hold = func(e peer.Effect) bool {
		r, ok := e.(peer.Request)
		if !ok || r.Class != peer.Live || len(swallowed) > 0 || len(r.Filters[0].Kinds) > 0 {
			return false
		}
		swallowed = append(swallowed, r.Sub)
		return true
	}
	d.connect(w, capacity.Limits{})
	d.pass(20 * time.Hour)
	before, follows := d.requests(peer.Live), len(d.following())
	if len(swallowed) != 1 || len(before) < 2 || !d.peer.AllConfirmed() {
		t.Fatalf("%d live REQs, %d without an answer", len(before), len(swallowed))
	}
	var closed []string
	d.closed = func(sub string) { closed = append(closed, sub) }
	d.sent = nil
	d.pass(6 * time.Hour)
	var lost peer.Request
	for _, r := range before {
		if r.Sub == swallowed[0] {
			lost = r
		}
	}
	again := d.requests(peer.Live)
	if len(again) != 1 || len(again[0].Filters) != len(lost.Filters) || !slices.Contains(closed, swallowed[0]) {
		t.Errorf("the full resync sent %d live REQs, closed %v, not %s", len(again), closed, swallowed[0])
	}
	for _, r := range before {
		if r.Sub != swallowed[0] && slices.Contains(closed, r.Sub) {
			t.Errorf("%s was answered and is closed", r.Sub)
		}
	}
	if !d.peer.AllConfirmed() || follows+len(lost.Filters) != len(d.following()) {
		t.Errorf("%d filters are live, %d before beside %d", len(d.following()), follows, len(lost.Filters))
	}
}
