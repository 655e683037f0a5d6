package wanttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// Fold is a Desired and what it has handed out.
type Fold struct {
	Mint
	*want.Desired
	Wants map[want.URL]*want.Want
	Now   int // minutes
}

// NewFold folds nothing yet, under the usual bounds.
func NewFold(t testing.TB, bootstrap ...want.URL) *Fold {
	return &Fold{Desired: want.NewDesired(policy.Rules{Service: Service(t)}, bootstrap, want.Bounds{}), Wants: map[want.URL]*want.Want{}}
}

// AddAll folds events.
func (f *Fold) AddAll(events ...*nostr.Event) *Fold {
	for _, e := range events {
		f.Add(e)
	}
	return f
}

// Step derives, two minutes later, and returns which relays changed.
func (f *Fold) Step() []want.URL {
	f.Now += 2
	return Collect(f.Desired, f.Now, f.Wants)
}

// Show lists repositories as d/addresses/roots per relay, in short.
func (f *Fold) Show(n int) string {
	w := f.Wants[want.URL(Relay(n))]
	if w == nil {
		return "none"
	}
	var out []string
	for _, r := range w.Repos {
		x := w.Repository(r.Item)
		var authors []string
		for _, a := range x.Addresses {
			at, _ := nip34.ParseAddress(a)
			authors = append(authors, fmt.Sprint(at.PubKey[3]))
		}
		out = append(out, fmt.Sprintf("%s/%s/%d", x.D, strings.Join(authors, ","), r.Roots()))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// Expect derives, and compares what Show lists for some relays.
func (f *Fold) Expect(t *testing.T, want map[int]string) {
	t.Helper()
	f.Step()
	for n, s := range want {
		if got := f.Show(n); got != s {
			t.Errorf("relay %d: want holds %q, not %q", n, got, s)
		}
	}
}
