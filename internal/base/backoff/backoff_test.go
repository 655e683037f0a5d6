package backoff_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var terms = backoff.Policy{
	Self: nostr.PubKey{1}, URL: "wss://a.example",
	BaseBackoff: 5 * time.Second, MaxBackoff: time.Hour, DeadAfter: 24 * time.Hour, DeadRetry: 24 * time.Hour,
}

func TestBackoff(t *testing.T) {
	c := terms
	plain := []time.Duration{5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600}
	seen := make(map[float64]bool)
	for i, want := range plain {
		want *= time.Second
		got := c.Backoff(i + 1)
		if got < want || got > want+want/4 {
			t.Errorf("attempt %d waits %v, want %v and up to a quarter more", i+1, got, want)
		}
		if got != c.Backoff(i+1) {
			t.Errorf("attempt %d: two answers", i+1)
		}
		seen[float64(got-want)/float64(want)] = true
	}
	if len(seen) < len(plain) {
		t.Error("the jitter does not depend on the attempt")
	}
	other := c
	other.URL = "wss://b.example"
	if c.Backoff(3) == other.Backoff(3) {
		t.Error("the jitter does not depend on the URL")
	}
	other = c
	other.Self = nostr.PubKey{2}
	if c.Backoff(3) == other.Backoff(3) {
		t.Error("the jitter does not depend on our own key")
	}
}

func TestFailuresUntilDead(t *testing.T) {
	c := terms
	var f backoff.Failures
	now := backoff.Now{Wall: time.Unix(1_800_000_000, 0)}
	for range 200 {
		wait := f.Count(c, now)
		if over := now.Since(f.First) >= 24*time.Hour; over != f.Dead(c, now) || over != (wait == 24*time.Hour) {
			t.Fatalf("failing for %v: dead %v, wait %v", now.Since(f.First), f.Dead(c, now), wait)
		}
		now.Mono += wait
		now.Wall = now.Wall.Add(wait)
	}
	if !f.Dead(c, now) {
		t.Error("not dead after 200 failures")
	}
}

func TestAgeIsTheLargerDifference(t *testing.T) {
	wall := time.Unix(1_800_000_000, 0)
	was := backoff.Now{Mono: time.Hour, Wall: wall}
	for _, c := range []struct {
		mono, wall, age time.Duration
	}{{time.Minute, time.Minute, time.Minute}, {time.Minute, time.Hour, time.Hour}, {time.Hour, -time.Hour, time.Hour}} {
		if got := (backoff.Now{Mono: was.Mono + c.mono, Wall: wall.Add(c.wall)}).Since(was); got != c.age {
			t.Errorf("%v by one clock and %v by the other is an age of %v, want %v", c.mono, c.wall, got, c.age)
		}
	}
}

// TestWhatHasPassedIsNotWaitedFor, or whoever waits for it would wake again and again.
func TestWhatHasPassedIsNotWaitedFor(t *testing.T) {
	for at, want := range map[time.Duration]time.Duration{0: backoff.Never, time.Minute: backoff.Never, time.Minute + 1: time.Minute + 1, backoff.Never: backoff.Never} {
		if got := backoff.Later(at, time.Minute); got != want {
			t.Errorf("what comes at %v is waited for until %v", at, got)
		}
	}
}
