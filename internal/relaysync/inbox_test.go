package relaysync_test

import (
	"testing"

	"graspd/internal/plan"
	"graspd/internal/relaysync"
)

// TestInboxWakesOnce: what another input follows for certain waits for it, in their order, unless there is much of it.
func TestInboxWakesOnce(t *testing.T) {
	b := relaysync.NewInbox()
	for n := range 10 {
		b.Before(t.Context(), plan.Received{At: int64(n)})
	}
	if b.Woken() {
		t.Error("the shell is woken for an event whose verdict is to come")
	}
	b.Push(plan.Decided{})
	if !b.Woken() {
		t.Fatal("the shell is not woken for a verdict")
	}
	got := b.Take()
	for n := range 10 {
		if r, ok := got[n].(plan.Received); !ok || r.At != int64(n) {
			t.Fatalf("input %d is %+v", n, got[n])
		}
	}
	if _, ok := got[10].(plan.Decided); !ok || len(got) != 11 {
		t.Fatalf("the last of %d is %+v", len(got), got[10])
	}
	for range 100 {
		b.Before(t.Context(), plan.Received{})
	}
	if !b.Woken() {
		t.Error("the shell is not woken for many events")
	}
}
