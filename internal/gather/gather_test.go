package gather_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/gather"
)

// TestAWindowStartsWithTheFirstChange and does not restart.
func TestAWindowStartsWithTheFirstChange(t *testing.T) {
	g := gather.New(5 * time.Second)
	if _, open := g.Due(); open {
		t.Error("open without a change")
	}
	g.Changed(time.Minute)
	g.Changed(time.Minute + 3*time.Second)
	if at, open := g.Due(); !open || at != time.Minute+5*time.Second {
		t.Errorf("due at %v, %v", at, open)
	}
	g.Handed()
	if _, open := g.Due(); open {
		t.Error("open after all was handed out")
	}
	g.Changed(2 * time.Minute)
	if at, _ := g.Due(); at != 2*time.Minute+5*time.Second {
		t.Errorf("due at %v", at)
	}
}

// TestAWindowEndsEarlyWhereARelayHasAnswered: a few times in a row, and in the long run no more often than windows end
// by themselves.
func TestAWindowEndsEarlyWhereARelayHasAnswered(t *testing.T) {
	g := gather.New(5 * time.Second)
	if g.Answered(0) {
		t.Error("a window ended that was not open")
	}
	early := func(from, to, every time.Duration) (n int) {
		for now := from; now < to; now += every {
			g.Changed(now)
			if g.Answered(now) {
				g.Handed()
				n++
			}
		}
		return n
	}
	if n := early(0, time.Second, 100*time.Millisecond); n != 6 {
		t.Errorf("%d windows ended early at once, want 6", n)
	}
	if n := early(time.Second, 1001*time.Second, 100*time.Millisecond); n != 200 {
		t.Errorf("%d windows ended early in 1000 s, want 200", n)
	}
	if n := early(time.Hour, time.Hour+time.Second, 100*time.Millisecond); n != 6 {
		t.Errorf("%d windows ended early after a long rest, want 6", n)
	}
}
