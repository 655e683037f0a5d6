package unsolicited

import (
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

func event(at int64, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	return &nostr.Event{Kind: kind, CreatedAt: at, Tags: tags}
}

// What answers a request, what comes too late for it, and what nobody asked for.
func TestWhatAnswersARequest(t *testing.T) {
	since := int64(100)
	asked := Expect([]nostr.Filter{
		{Kinds: []nostr.Kind{30617}},
		{Tags: []nostr.TagFilter{{Name: 'A', Values: []string{"30617:aa:x"}}}, Since: &since},
	})
	for _, c := range []struct {
		what string
		e    *nostr.Event
		want Class
	}{
		{"what was asked for by kind", event(1, 30617), Expected},
		{"what was asked for by tag", event(200, 1, nostr.Tag{"A", "30617:aa:x"}), Expected},
		{"the value under another name", event(200, 1, nostr.Tag{"a", "30617:aa:x"}), Expected},
		{"a value that begins alike", event(200, 1, nostr.Tag{"A", "30617:aa:xy"}), Expected},
		{"the same from before that time", event(99, 1, nostr.Tag{"A", "30617:aa:xy"}), Stale},
		{"another value", event(200, 1, nostr.Tag{"A", "30617:bb:x"}), Unsolicited},
		{"a tag that relays do not index", event(200, 1, nostr.Tag{"alt", "30617:aa:x"}), Unsolicited},
		{"no tag", event(200, 1), Unsolicited},
	} {
		if got := asked.Classify(c.e); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	over := Over()
	for _, e := range []*nostr.Event{event(1, 30617), event(200, 1)} {
		if got := over.Classify(e); got != Stale {
			t.Errorf("after its end: %v", got)
		}
	}
}

// Events from outside the time that was asked for, and those of a request that has ended, are held against the relay when there are
// too many; what answers a request never is.
func TestWhatIsDroppedIsCounted(t *testing.T) {
	since := int64(100)
	asked := Expect([]nostr.Filter{{Kinds: []nostr.Kind{1}, Since: &since}})
	early, right := event(99, 1), event(100, 1)
	for _, c := range []struct {
		q    *Expectation
		e    *nostr.Event
		most int
	}{{asked, early, mostOutside}, {Over(), right, mostStale}} {
		for n := range c.most + 2 {
			want := Stale
			if n >= c.most {
				want = Unsolicited
			}
			if got := c.q.Classify(c.e); got != want {
				t.Fatalf("event %d of at most %d: %v", n, c.most, got)
			}
		}
	}
	if got := asked.Classify(right); got != Expected {
		t.Errorf("what answers after that: %v", got)
	}
	if got := Expect([]nostr.Filter{{Kinds: []nostr.Kind{1}, Since: &since}}).Classify(early); got != Stale {
		t.Errorf("another request has the count of the first: %v", got)
	}
}
