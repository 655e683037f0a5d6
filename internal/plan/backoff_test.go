package plan

import (
	"testing"
	"time"

	"graspd/internal/nostr"
)

func TestBackoff(t *testing.T) {
	c := Config{URL: "wss://a.example", Self: nostr.PubKey{1}}.withDefaults()
	plain := []time.Duration{5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600}
	seen := make(map[float64]bool)
	for i, want := range plain {
		want *= time.Second
		got := backoff(c, i+1)
		if got < want || got > want+want/4 {
			t.Errorf("attempt %d waits %v, want %v and up to a quarter more", i+1, got, want)
		}
		if got != backoff(c, i+1) {
			t.Errorf("attempt %d: two answers", i+1)
		}
		seen[float64(got-want)/float64(want)] = true
	}
	if len(seen) < len(plain) {
		t.Error("the jitter does not depend on the attempt")
	}
	other := c
	other.URL = "wss://b.example"
	if backoff(c, 3) == backoff(other, 3) {
		t.Error("the jitter does not depend on the URL")
	}
	other = c
	other.Self = nostr.PubKey{2}
	if backoff(c, 3) == backoff(other, 3) {
		t.Error("the jitter does not depend on our own key")
	}
}

func TestFailuresUntilDead(t *testing.T) {
	c := Config{URL: "wss://a.example"}.withDefaults()
	var f failures
	now := Now{Wall: time.Unix(1_800_000_000, 0)}
	for range 200 {
		wait := f.count(c, now)
		if over := now.since(f.first) >= 24*time.Hour; over != f.dead(c, now) || over != (wait == 24*time.Hour) {
			t.Fatalf("failing for %v: dead %v, wait %v", now.since(f.first), f.dead(c, now), wait)
		}
		now.Mono += wait
		now.Wall = now.Wall.Add(wait)
	}
	if !f.dead(c, now) {
		t.Error("not dead after 200 failures")
	}
}

func TestResyncInterval(t *testing.T) {
	at := make(map[time.Duration]bool)
	for i := range 200 {
		p := NewPeer(Config{Self: nostr.PubKey{byte(i)}, URL: "wss://a.example"})
		p.now.Mono = time.Duration(i) * time.Hour
		p.scheduleResync()
		wait := p.resyncAt - p.now.Mono
		if wait < 23*time.Hour || wait > 25*time.Hour {
			t.Fatalf("next resync in %v", wait)
		}
		at[wait] = true
	}
	if len(at) < 190 {
		t.Error("resyncs are not spread")
	}
}

func TestAgeIsTheLargerDifference(t *testing.T) {
	wall := time.Unix(1_800_000_000, 0)
	was := Now{Mono: time.Hour, Wall: wall}
	for _, c := range []struct {
		mono, wall, age time.Duration
	}{{time.Minute, time.Minute, time.Minute}, {time.Minute, time.Hour, time.Hour}, {time.Hour, -time.Hour, time.Hour}} {
		if got := (Now{Mono: was.Mono + c.mono, Wall: wall.Add(c.wall)}).since(was); got != c.age {
			t.Errorf("%v by one clock and %v by the other is an age of %v, want %v", c.mono, c.wall, got, c.age)
		}
	}
}
