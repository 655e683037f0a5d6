package main

import (
	"testing"
	"time"
)

// Days are what people say: 30d, not 720h.
func TestDurationsInDays(t *testing.T) {
	var v time.Duration
	s := duration("keep", 30*24*time.Hour, 0, "", &v)
	if s.def != "30d" {
		t.Errorf("the default is %s", s.def)
	}
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "1d": 24 * time.Hour, "0d": 0, "24h": 24 * time.Hour, "1h30m": 90 * time.Minute} {
		if err := s.set(text); err != nil || v != want {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
	for _, text := range []string{"d", "-1d", "1.5d", "1d2h", "200000000d", "x"} {
		if err := s.set(text); err == nil {
			t.Errorf("%s is taken as %v", text, v)
		}
	}
	for d, want := range map[time.Duration]string{24 * time.Hour: "24h", 36 * time.Hour: "36h", 48 * time.Hour: "2d", 0: "0s", 49 * time.Hour: "49h"} {
		if got := durationText(d); got != want {
			t.Errorf("%v is written %s", d, got)
		}
	}
}
