package relaysync

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestUselessEventsArePaidFor: what brought nothing is read at a rate, after many; what brought something costs nothing, nor does a failure of
// this relay's own.
func TestUselessEventsArePaidFor(t *testing.T) {
	for _, tt := range []struct {
		name string
		v    policy.Verdict
		free bool
	}{
		{"new", policy.Verdict{Outcome: policy.Accept}, true},
		{"waits", policy.Verdict{Outcome: policy.Wait}, true},
		{"waited before", policy.Verdict{Outcome: policy.Wait, Reason: "duplicate: it waits"}, false},
		{"not stored, as the disk is full", policy.Verdict{Outcome: policy.Failed}, true},
		{"here", policy.Verdict{Outcome: policy.Duplicate}, false},
		{"refused", policy.Verdict{Outcome: policy.Discard}, false},
		{"forged", policy.Verdict{Outcome: policy.Invalid}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				now := func() time.Duration { return time.Since(begun) }
				var u useless
				for range 51_000 {
					u.charge(now(), 1)
					u.decided(now(), 1, tt.v)
				}
				if err := u.wait(t.Context(), now); err != nil {
					t.Fatal(err)
				}
				if took := now(); tt.free != (took == 0) || took > 1100*time.Millisecond {
					t.Errorf("waited for %v", took)
				}
			})
		})
	}
}

func TestLargeEventsCostMore(t *testing.T) {
	small, large := &nostr.Event{}, &nostr.Event{Content: strings.Repeat("x", 100<<10)}
	if a, b := cost(small), cost(large); a != 1 || b < 50 || b > 52 {
		t.Errorf("%v and %v", a, b)
	}
	if a, b := costOf(512<<10), costOf(512<<10+1); a != 257 || b != 4*257 {
		t.Errorf("%v and %v at the bound", a, b)
	}
}
