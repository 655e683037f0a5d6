package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/operate/progress"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
)

// standing says how far yours has come.
type standing struct {
	relays      []relayStanding
	have, total int

	hosted, repositories int // repositories that yours serves as they were pushed to others; all
}

// relayStanding says how many of a relay's events yours has, and the state of the connection to that relay.
type relayStanding struct {
	name      string
	have, all int
	state     string
	live      bool
}

// look compares what yours has with what the others have.
func (d *show) look(ctx context.Context) (s standing, err error) {
	held, err := heldBy(ctx, d.yours.Store)
	if err != nil {
		return s, err
	}
	states := make(map[string]status.Relay)
	for _, r := range d.yours.Engine.Relays(ctx) {
		states[string(r.URL)] = r
	}
	all := make(map[nostr.ID]bool)
	for _, n := range d.others {
		theirs, err := heldBy(ctx, n.Store)
		if err != nil {
			return s, err
		}
		delete(theirs, d.replaced)
		r := relayStanding{name: n.name, all: len(theirs)}
		for id := range theirs {
			all[id] = true
			if held[id] {
				r.have++
			}
		}
		st, known := states[string(n.Service().RelayURL())]
		r.state, r.live = describe(st, known), st.Phase == status.PhaseLive
		s.relays = append(s.relays, r)
	}
	s.have, s.total = len(held), len(all)
	for _, p := range d.projects {
		there, err := p.servedBy(d.yours)
		if err != nil {
			return s, err
		}
		if there {
			s.hosted++
		}
	}
	s.repositories = len(d.projects)
	return s, ctx.Err()
}

// describe says in a few words what yours does with a relay.
func describe(s status.Relay, known bool) string {
	switch {
	case !known:
		return "not heard of yet"
	case s.Phase == status.PhaseWaiting:
		return "hung up; again in " + brief(max(0, time.Until(s.NextAttempt.Time)))
	case s.Phase == status.PhaseIdle:
		return "found in an announcement"
	}
	return s.Phase
}

// complete reports whether yours has everything and follows every relay live.
func (s standing) complete() bool {
	for _, r := range s.relays {
		if !r.live || r.have < r.all {
			return false
		}
	}
	return s.have >= s.total && s.hosted == s.repositories
}

// bars returns the lines for a terminal.
func (s standing) bars() []string {
	var out []string
	for _, r := range s.relays {
		out = append(out, fmt.Sprintf("  %-12s %s %5s of %5s  %s", r.name, progress.Bar(30, int64(r.have), int64(r.all)), digits(r.have), digits(r.all), r.state))
	}
	return append(out, fmt.Sprintf("  %-12s %s %5s of %5s events", "your relay", progress.Bar(30, int64(s.have), int64(s.total)), digits(s.have), digits(s.total)),
		fmt.Sprintf("  %-12s %s %5s of %5s repositories", "", progress.Bar(30, int64(s.hosted), int64(s.repositories)), digits(s.hosted), digits(s.repositories)))
}

// line returns the standing in one line, for a file.
func (s standing) line() string {
	parts := []string{fmt.Sprintf("your relay has %d of %d events, %d of %d repositories", s.have, s.total, s.hosted, s.repositories)}
	for _, r := range s.relays {
		parts = append(parts, fmt.Sprintf("%s %d of %d (%s)", r.name, r.have, r.all, r.state))
	}
	return strings.Join(parts, "; ")
}

func digits(n int) string { return progress.Count(int64(n)) }

// brief writes a time in two or three digits.
func brief(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
