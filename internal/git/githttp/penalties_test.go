package githttp

import (
	"fmt"
	"testing"
	"time"
)

func TestPenaltiesGrowAndAreForgotten(t *testing.T) {
	var s penalties
	now := time.Unix(1_000_000, 0)
	wants := func(what string, got, want time.Duration) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, not %s", what, got, want)
		}
	}
	wants("at first", s.wait(now, "a"), 0)
	wants("a costly pack", s.add(now, "a"), time.Minute)
	wants("the same address", s.wait(now, "a"), time.Minute)
	wants("another address", s.wait(now, "b"), 0)
	now = now.Add(20 * time.Second)
	wants("one that was on its way beside it", s.add(now, "a"), 40*time.Second)
	now = now.Add(40 * time.Second)
	wants("in the end", s.wait(now, "a"), 0)
	for _, minutes := range []time.Duration{2, 4, 8, 16, 16} {
		wants("again", s.add(now, "a"), minutes*time.Minute)
		now = now.Add(minutes * time.Minute)
	}
	now = now.Add(time.Hour)
	wants("within an hour", s.add(now, "a"), 16*time.Minute)
	now = now.Add(16*time.Minute + time.Hour + time.Second)
	wants("after an hour", s.add(now, "a"), time.Minute)
}

// Addresses beyond the bound have those forgotten whose wait ends first.
func TestPenaltiesAreBounded(t *testing.T) {
	var s penalties
	now := time.Unix(1_000_000, 0)
	name := func(i int) string { return fmt.Sprint("address ", i) }
	for i := range mostPenalties {
		s.add(now.Add(time.Duration(i)*time.Millisecond), name(i))
	}
	now = now.Add(10 * time.Second)
	for i := range 3 {
		s.add(now, name(mostPenalties+i))
	}
	if len(s.by) != mostPenalties {
		t.Errorf("%d are remembered", len(s.by))
	}
	for i := range mostPenalties + 3 {
		if waits := s.wait(now, name(i)) > 0; waits != (i >= 3) {
			t.Fatalf("%s waits: %v", name(i), waits)
		}
	}
}
