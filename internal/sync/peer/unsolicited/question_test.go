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
	asked := Ask([]nostr.Filter{
		{Kinds: []nostr.Kind{30617}},
		{Tags: []nostr.TagFilter{{Name: 'A', Values: []string{"30617:aa:x"}}}, Since: &since},
	})
	for _, c := range []struct {
		what string
		e    *nostr.Event
		want Answer
	}{
		{"what was asked for by kind", event(1, 30617), Asked},
		{"what was asked for by tag", event(200, 1, nostr.Tag{"A", "30617:aa:x"}), Asked},
		{"the value under another name", event(200, 1, nostr.Tag{"a", "30617:aa:x"}), Asked},
		{"a value that begins alike", event(200, 1, nostr.Tag{"A", "30617:aa:xy"}), Asked},
		{"the same from before that time", event(99, 1, nostr.Tag{"A", "30617:aa:xy"}), Late},
		{"another value", event(200, 1, nostr.Tag{"A", "30617:bb:x"}), Unasked},
		{"a tag that relays do not index", event(200, 1, nostr.Tag{"alt", "30617:aa:x"}), Unasked},
		{"no tag", event(200, 1), Unasked},
	} {
		if got := asked.Hear(c.e); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	over := Over()
	for _, e := range []*nostr.Event{event(1, 30617), event(200, 1)} {
		if got := over.Hear(e); got != Late {
			t.Errorf("after its end: %v", got)
		}
	}
}

// Events from outside the time that was asked for, and those of a request that has ended, are held against the relay when there are
// too many; what answers a request never is.
func TestWhatIsDroppedIsCounted(t *testing.T) {
	since := int64(100)
	asked := Ask([]nostr.Filter{{Kinds: []nostr.Kind{1}, Since: &since}})
	early, right := event(99, 1), event(100, 1)
	for _, c := range []struct {
		q    *Question
		e    *nostr.Event
		most int
	}{{asked, early, mostOutside}, {Over(), right, mostLate}} {
		for n := range c.most + 2 {
			want := Late
			if n >= c.most {
				want = Unasked
			}
			if got := c.q.Hear(c.e); got != want {
				t.Fatalf("event %d of at most %d: %v", n, c.most, got)
			}
		}
	}
	if got := asked.Hear(right); got != Asked {
		t.Errorf("what answers after that: %v", got)
	}
	if got := Ask([]nostr.Filter{{Kinds: []nostr.Kind{1}, Since: &since}}).Hear(early); got != Late {
		t.Errorf("another request has the count of the first: %v", got)
	}
}
