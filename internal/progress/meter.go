package progress

import (
	"fmt"
	"sync"
	"time"
)

// between is the time between two drawings.
const between = 100 * time.Millisecond

// Meter shows one piece of work in one line. A nil Meter shows nothing.
type Meter struct {
	screen *Screen
	what   string
	now    func() time.Time

	mu          sync.Mutex // guards the rest
	begun, next time.Time
}

// NewMeter returns a meter for what is done; nil without a screen.
func NewMeter(s *Screen, what string, now func() time.Time) *Meter {
	if s == nil {
		return nil
	}
	return &Meter{screen: s, what: what, now: now}
}

// Show tells that so much of all is done, in any unit, with so many events. It draws a few times a second only.
func (m *Meter) Show(done, all, events int64) {
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
	m.screen.Draw(m.line(now.Sub(m.begun), done, all, events))
}

func (m *Meter) line(took time.Duration, done, all, events int64) string {
	line := fmt.Sprintf("%s %s %3d %%  %s events", m.what, Bar(24, done, all), 100*min(done, all)/max(1, all), Count(events))
	if took >= time.Second {
		line += fmt.Sprintf(", %s a second", Count(int64(float64(events)/took.Seconds())))
	}
	if left, ok := Left(took, done, all); ok {
		line += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return line
}

// End takes the line away.
func (m *Meter) End() {
	if m != nil {
		m.screen.Clear()
	}
}
