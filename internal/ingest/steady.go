package ingest

import "time"

const (
	// clockJump is by how much more or less the wall clock has to run between two looks than the monotonic one to count as set.
	clockJump = 5 * time.Minute
	// clockTrust is how long the wall clock must have run evenly before anything is deleted by it.
	clockTrust = 10 * time.Minute
)

// steadiness knows since when the wall clock has run evenly. A machine that slept counts as a jump. The writer owns it.
type steadiness struct {
	wall  time.Time // at the last look
	mono  time.Time // at the last look, with its monotonic reading
	since time.Time // of the first look or the last jump, with its monotonic reading
}

// look compares both clocks with the last look, and gives the time that still has to pass, with even clocks, before wall may be believed.
// It may be believed when that is 0 or less.
func (s *steadiness) look(wall, mono time.Time) time.Duration {
	wall = wall.Round(0)
	parted := wall.Sub(s.wall) - mono.Sub(s.mono)
	if s.since.IsZero() || parted.Abs() > clockJump {
		s.since = mono
	}
	s.wall, s.mono = wall, mono
	return clockTrust - mono.Sub(s.since)
}
