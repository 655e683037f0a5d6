package mailbox_test

import (
	"context"
	"iter"
	"testing"

	"github.com/graspd/graspd/internal/sync/mailbox"
	"github.com/graspd/graspd/internal/test/testkit/itertest"
)

// Whoever takes what changed may stop anywhere.
func TestWhatChangedEndsWithItsReader(t *testing.T) {
	itertest.Seq2(t, func(context.Context) iter.Seq2[mailbox.URL, *mailbox.Mailbox] {
		f := newFold(mailbox.Bounds{}, "wss://index.example")
		f.Add(issue(1, 1))
		f.Add(lists(1, 1, "wss://a.example", "wss://b.example"))
		return f.Changed()
	})
	f, a := newFold(mailbox.Bounds{}), asked{}
	f.Add(issue(1, 1))
	f.Add(lists(1, 1, "wss://a.example", "wss://b.example", "wss://c.example"))
	for u, s := range f.Changed() {
		a[u] = s
		break
	}
	if got := a.take(f); len(got) != 2 || a.String() != "a.example:1 b.example:1 c.example:1" {
		t.Errorf("after a reader that stopped: %v, %q", got, a)
	}
}
