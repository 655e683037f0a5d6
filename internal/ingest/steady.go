package ingest

import "time"

const (
	// clockJump is how far the wall clock and the monotonic one part between two looks when the former was set.
	clockJump = 5 * time.Minute
	// clockTrust is how long the wall clock must have run evenly before anything is deleted by it.
	clockTrust = 10 * time.Minute
)

// steadiness tells how long the wall clock has run evenly. A machine that slept counts as a jump. The writer owns it.
type steadiness struct {
	wall  time.Time // at the last look
	mono  time.Time // at the last look, with its monotonic reading
	since time.Time // of the first look or the last jump, with its monotonic reading
}

// look compares both clocks with those of the last look and gives the time that is still to pass, with even clocks,
// before wall may be believed; 0 or less when it may.
func (s *steadiness) look(wall, mono time.Time) time.Duration {
	wall = wall.Round(0)
	parted := wall.Sub(s.wall) - mono.Sub(s.mono)
	if s.since.IsZero() || parted.Abs() > clockJump {
		s.since = mono
	}
	s.wall, s.mono = wall, mono
	return clockTrust - mono.Sub(s.since)
}
