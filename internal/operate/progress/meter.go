package progress

import (
	"fmt"
	"sync"
	"time"
)

// between is the time between two drawings.
const between = 100 * time.Millisecond

// Meter shows one piece of work in one line. A nil Meter shows nothing. Any goroutine may use it.
type Meter struct {
	screen     *Screen
	what, unit string
	now        func() time.Time

	mu          sync.Mutex // guards the fields below
	begun, next time.Time
}

// NewMeter returns a meter for a piece of work called what, on things of which unit is the plural; nil without a screen.
func NewMeter(s *Screen, what, unit string, now func() time.Time) *Meter {
	if s == nil {
		return nil
	}
	return &Meter{screen: s, what: what, unit: unit, now: now}
}

// Show draws how far the work is: done of all, in any measure, and how many things are through. It draws at most once in the time between.
func (m *Meter) Show(done, all, things int64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if m.begun.IsZero() {
		m.begun = now
	}
	if now.Before(m.next) {
		return
	}
	m.next = now.Add(between)
	m.screen.Draw(m.line(now.Sub(m.begun), done, all, things))
}

func (m *Meter) line(took time.Duration, done, all, things int64) string {
	line := fmt.Sprintf("%s %s %3d %%  %s %s", m.what, Bar(24, done, all), 100*min(done, all)/max(1, all), Count(things), m.unit)
	if took >= time.Second {
		line += fmt.Sprintf(", %s a second", Count(int64(float64(things)/took.Seconds())))
	}
	if left, ok := Left(took, done, all); ok {
		line += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return line
}

// End takes the line off the screen.
func (m *Meter) End() {
	if m != nil {
		m.screen.Clear()
	}
}
