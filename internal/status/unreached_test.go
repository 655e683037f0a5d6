package status

import (
	"strings"
	"testing"
	"time"
)

// TestNoRelayWasReached is told once something has been wanted for two minutes, and not when one relay was reached.
func TestNoRelayWasReached(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	out := Relay{URL: "wss://a.example", Health: Degraded, Behind: 2 * time.Minute, Failures: 3, Cause: "dial tcp: no such host\x1b[2J", LastAlive: Moment{start.Add(-time.Hour)}}
	with := func(change func(*Relay)) Relay {
		r := out
		r.URL = "wss://b.example"
		change(&r)
		return r
	}
	dead := with(func(r *Relay) { r.Health = Dead })
	quiet := with(func(r *Relay) { r.Cause = "" })
	for _, c := range []struct {
		name   string
		relays []Relay
		want   []string // words; nil = nothing is told
	}{
		{"nobody is followed", nil, nil},
		{"one", []Relay{out}, []string{"the only relay that is followed was not reached since the start (2026-11-20T12:00:00Z)", `wss://a.example: dial tcp: no such host\x1b[2J`, "firewall"}},
		{"two", []Relay{quiet, out}, []string{"none of the 2 relays that are followed was reached", "wss://a.example: dial"}},
		{"none failed yet", []Relay{quiet}, []string{"wss://b.example: no answer yet"}},
		{"wanted just now", []Relay{with(func(r *Relay) { r.Behind-- })}, nil},
		{"connected", []Relay{out, with(func(r *Relay) { r.Connected = true })}, nil},
		{"reached and lost", []Relay{with(func(r *Relay) { r.LastAlive = Moment{start.Add(time.Second)} }), out}, nil},
		{"proved to be this one", []Relay{out, with(func(r *Relay) { r.Ourself = true })}, nil},
		{"a dead one of strangers", []Relay{dead}, nil},
		{"a dead bootstrap relay", []Relay{with(func(r *Relay) { r.Health, r.Bootstrap = Dead, true })}, []string{"the only relay"}},
		{"dead ones and another", []Relay{dead, out}, []string{"none of the 2 relays", "wss://a.example"}},
	} {
		got := Unreached(c.relays, start)
		if (got == "") != (c.want == nil) {
			t.Errorf("%s: %q", c.name, got)
		}
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q has no %q", c.name, got, w)
			}
		}
	}
}

func TestWhyARelayFails(t *testing.T) {
	since := Moment{time.Date(2026, 11, 20, 13, 0, 0, 0, time.FixedZone("", 3600))}
	for want, r := range map[string]Relay{
		"":          {Cause: "asked to slow down"},
		"1 failure": {Failures: 1},
		"1 failure since 2026-11-20T12:00:00Z, the last one: HTTP 502": {Failures: 1, FailingSince: since, Cause: "HTTP 502"},
		`7 failures in a row, the last one: \x1b[2J`:                   {Failures: 7, Cause: "\x1b[2J"},
	} {
		if got := r.Failing(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
