package status

import (
	"testing"
	"time"
)

func TestTextsOfFigures(t *testing.T) {
	for got, want := range map[string]string{
		Percent(1): "100.0%", Percent(0.99999): "99.9%", Percent(0): "0.0%", Percent(0.29): "29.0%",
		Until(-time.Hour): "now", Until(999 * time.Millisecond): "now", Until(45 * time.Second): "in 45 s", Until(90 * time.Minute): "in 1 h 30 min",
		Duration(-time.Second): "0 s", Duration(59*time.Minute + 59*time.Second): "59 min", Duration(24 * time.Hour): "1 d 0 h", Duration(75 * time.Hour): "3 d 3 h",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestStatesOfRelays: a dead relay is dead, whatever it does at the moment, and every state is explained.
func TestStatesOfRelays(t *testing.T) {
	known := map[string]bool{}
	for _, w := range States() {
		known[w.Name] = true
	}
	for want, r := range map[string]Relay{"dead": {Phase: "dialing", Health: Dead}, "waiting": {Phase: "waiting", Health: Degraded}, "live": {Phase: "live"}, "idle": {Phase: "idle"},
		"dialing": {Phase: "dialing"}, "syncing": {Phase: "syncing"}} {
		if r.State() != want || !known[want] {
			t.Errorf("%s, want %s", r.State(), want)
		}
	}
	tracked, connected, dead := Tally([]Relay{{Connected: true}, {Health: Dead}, {Connected: true}})
	if tracked != 3 || connected != 2 || dead != 1 {
		t.Errorf("%d relays, %d connected, %d dead", tracked, connected, dead)
	}
}

// TestWordsAreExplainedOnce: no name stands twice in the legend, and none without a meaning.
func TestWordsAreExplainedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range Words() {
		if w.Name == "" || w.Meaning == "" || seen[w.Name] {
			t.Errorf("%+v", w)
		}
		seen[w.Name] = true
	}
}
