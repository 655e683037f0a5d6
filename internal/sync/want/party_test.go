package want_test

import (
	"testing"

	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// TestPartyOfARelay is the owner who alone names it, and nobody where others do too, or the operator.
func TestPartyOfARelay(t *testing.T) {
	f := wanttest.NewFold(t, want.URL(wanttest.Relay(3)))
	a, b := wanttest.Key(0), wanttest.Key(1)
	f.AddAll(
		f.Announce(a, "x", 10, []string{wanttest.Us, wanttest.Relay(1), wanttest.Relay(2), wanttest.Relay(3)}),
		f.Announce(a, "y", 10, []string{wanttest.Us, wanttest.Relay(1)}),
		f.Announce(b, "x", 10, []string{wanttest.Us, wanttest.Relay(2)}),
	).Step()
	for n, party := range map[int]string{1: a.String(), 2: "", 3: ""} {
		if got := f.Wants[want.URL(wanttest.Relay(n))].Party(); got != party {
			t.Errorf("relay %d is of the party %q, not %q", n, got, party)
		}
	}
	if got := (&want.Want{}).Party(); got != "" {
		t.Errorf("one that nobody wants is of the party %q", got)
	}
}
