package peer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// TestANoticeThatMayBeAboutSeveralREQs: all that wait for an answer are sent again soon, as only one of them was meant.
func TestANoticeThatMayBeAboutSeveralREQs(t *testing.T) {
	_, w := small(t, 40)
	d := newDriver(t, peer.Config{NoNegentropy: true, MaxTags: 10})
	held := 0
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if len(r.Filters) > 3 {
			return nostr.Closed{Sub: r.Sub, Reason: "invalid: too many filters"}
		}
		return nil
	}
	d.hold = func(e peer.Effect) bool {
		r, ok := e.(peer.Request)
		if !ok || r.Class != peer.Live || len(r.Filters) > 3 {
			return false
		}
		d.open[r.Sub] = r
		held++
		return true
	}
	d.connect(w, capacity.Limits{MaxSubscriptions: 40})
	if held < 4 {
		t.Fatalf("%d REQs wait", held)
	}
	for range held {
		d.do(peer.Frame{Message: nostr.Notice{Text: "invalid: too many filters"}})
	}
	d.hold = nil
	d.pass(15 * time.Second)
	if s := d.peer.Status(); s.LiveREQs < 4 || !d.peer.AllConfirmed() {
		t.Errorf("%+v", s)
	}
}

// TestANoticeAboutFiltersIsAboutLiveREQs: a stored request has one filter, and goes on.
func TestANoticeAboutFiltersIsAboutLiveREQs(t *testing.T) {
	f, w := small(t, 40)
	d := newDriver(t, peer.Config{NoNegentropy: true, MaxTags: 10})
	many := func(f nostr.Filter) bool {
		return slices.ContainsFunc(f.Tags, func(t nostr.TagFilter) bool { return len(t.Values) > capacity.FewestValues })
	}
	stored, held := map[string]bool{}, false
	d.hold = func(e peer.Effect) bool {
		r, ok := e.(peer.Request)
		if !ok || r.Class == peer.Live && len(stored) == 0 || r.Class != peer.Live && !many(r.Filters[0]) {
			return false
		}
		if d.open[r.Sub] = r; r.Class == peer.Live {
			held = true
		} else {
			stored[r.Sub] = true
		}
		return true
	}
	d.closed = func(sub string) {
		if held && stored[sub] {
			t.Errorf("the stored request %s is ended", sub)
		}
	}
	d.connect(w, capacity.Limits{MaxSubscriptions: 40})
	f.AddAll(f.Announce(key(1), "x", 1, []string{us, string(here)})).Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	if len(stored) == 0 || !held {
		t.Fatalf("%d stored requests wait, and a live one: %v", len(stored), held)
	}
	d.do(peer.Frame{Message: nostr.Notice{Text: "invalid: too many filters"}})
}
