package gather_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/sync/relaysync/gather"
)

// TestAWindowStartsWithTheFirstChange and does not restart.
func TestAWindowStartsWithTheFirstChange(t *testing.T) {
	g := gather.New(5 * time.Second)
	if _, open := g.Due(); open {
		t.Error("open without a change")
	}
	g.Handed(time.Minute-time.Second, true)
	g.Changed(time.Minute)
	g.Changed(time.Minute + 3*time.Second)
	if at, open := g.Due(); !open || at != time.Minute+5*time.Second {
		t.Errorf("due at %v, %v", at, open)
	}
	g.Handed(time.Minute+5*time.Second, true)
	if _, open := g.Due(); open {
		t.Error("open after all was handed out")
	}
	g.Changed(time.Minute + 9*time.Second)
	if at, _ := g.Due(); at != time.Minute+14*time.Second {
		t.Errorf("due at %v", at)
	}
}

// TestAChangeAfterARest waits for a tenth of a window only, and yet changes are handed out no more often than once in a window.
func TestAChangeAfterARest(t *testing.T) {
	const window = 5 * time.Second
	g := gather.New(window)
	g.Changed(time.Second)
	if at, _ := g.Due(); at != time.Second+window/10 {
		t.Errorf("the first is due at %v", at)
	}
	g.Handed(time.Second+window/10, true)
	g.Changed(time.Second + window/10 + window)
	if at, _ := g.Due(); at != time.Second+window/5+window {
		t.Errorf("after a rest of one window: due at %v", at)
	}
	g.Handed(time.Minute, false)
	g.Changed(time.Minute)
	if at, _ := g.Due(); at != time.Minute+window/10 {
		t.Errorf("after nothing was handed out: due at %v", at)
	}
	for _, every := range []time.Duration{10 * time.Millisecond, time.Second, 5010 * time.Millisecond} {
		g, n := gather.New(window), 0
		for now := time.Duration(0); now < 1000*time.Second; now += 10 * time.Millisecond {
			if now%every == 0 {
				g.Changed(now)
			}
			if at, open := g.Due(); open && now >= at {
				g.Handed(now, true)
				n++
			}
		}
		if n < 100 || n > 201 {
			t.Errorf("a change every %v: handed out %d times in 1000 s, want at most 201", every, n)
		}
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
				g.Handed(now, true)
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
