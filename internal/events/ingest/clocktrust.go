package ingest

import "time"

const (
	// clockJump is by how much the wall clock and the monotonic clock have to differ between two looks for the wall clock to count as set.
	clockJump = 5 * time.Minute
	// clockTrust is how long the wall clock must have run evenly before the writer deletes anything by it.
	clockTrust = 10 * time.Minute
)

// steadiness knows since when the wall clock has run evenly. A machine that slept counts as a jump. The writer owns it.
type steadiness struct {
	wall  time.Time // the wall clock at the last look
	mono  time.Time // the time of the last look, with a monotonic reading
	since time.Time // the time of the first look or the last jump, with a monotonic reading
}

// look compares both clocks with the last look. It returns how long the clocks still have to run evenly before the writer may believe wall;
// 0 or less where it may believe wall now.
func (s *steadiness) look(wall, mono time.Time) time.Duration {
	wall = wall.Round(0)
	parted := wall.Sub(s.wall) - mono.Sub(s.mono)
	if s.since.IsZero() || parted.Abs() > clockJump {
		s.since = mono
	}
	s.wall, s.mono = wall, mono
	return clockTrust - mono.Sub(s.since)
}
