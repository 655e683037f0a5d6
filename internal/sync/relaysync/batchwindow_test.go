package relaysync

import (
	"testing"
	"time"
)

// TestAWindowStartsWithTheFirstChange and does not restart.
func TestAWindowStartsWithTheFirstChange(t *testing.T) {
	g := newBatchWindow(5 * time.Second)
	if _, open := g.due(); open {
		t.Error("open without a change")
	}
	g.handed(time.Minute-time.Second, true)
	g.changed(time.Minute)
	g.changed(time.Minute + 3*time.Second)
	if at, open := g.due(); !open || at != time.Minute+5*time.Second {
		t.Errorf("due at %v, %v", at, open)
	}
	g.handed(time.Minute+5*time.Second, true)
	if _, open := g.due(); open {
		t.Error("open after all was handed out")
	}
	g.changed(time.Minute + 9*time.Second)
	if at, _ := g.due(); at != time.Minute+14*time.Second {
		t.Errorf("due at %v", at)
	}
}

// TestAChangeAfterARest waits for a tenth of a window only, and yet changes are handed out no more often than once in a window.
func TestAChangeAfterARest(t *testing.T) {
	const window = 5 * time.Second
	g := newBatchWindow(window)
	g.changed(time.Second)
	if at, _ := g.due(); at != time.Second+window/10 {
		t.Errorf("the first is due at %v", at)
	}
	g.handed(time.Second+window/10, true)
	g.changed(time.Second + window/10 + window)
	if at, _ := g.due(); at != time.Second+window/5+window {
		t.Errorf("after a rest of one window: due at %v", at)
	}
	g.handed(time.Minute, false)
	g.changed(time.Minute)
	if at, _ := g.due(); at != time.Minute+window/10 {
		t.Errorf("after nothing was handed out: due at %v", at)
	}
	for _, every := range []time.Duration{10 * time.Millisecond, time.Second, 5010 * time.Millisecond} {
		g, n := newBatchWindow(window), 0
		for now := time.Duration(0); now < 1000*time.Second; now += 10 * time.Millisecond {
			if now%every == 0 {
				g.changed(now)
			}
			if at, open := g.due(); open && now >= at {
				g.handed(now, true)
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
	g := newBatchWindow(5 * time.Second)
	if g.answered(0) {
		t.Error("a window ended that was not open")
	}
	early := func(from, to, every time.Duration) (n int) {
		for now := from; now < to; now += every {
			g.changed(now)
			if g.answered(now) {
				g.handed(now, true)
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
