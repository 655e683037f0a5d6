package backoff

import "time"

// Uptime says for how long a wanted server was connected, and for how long it was not.
type Uptime struct{ Connected, Not time.Duration }

// Add adds the time d, in which the server was connected or not.
func (u *Uptime) Add(connected bool, d time.Duration) {
	if connected {
		u.Connected += d
	} else {
		u.Not += d
	}
}

// Ratio returns the share of the time in which the server was connected, 0 to 1; nil while no time has passed.
func (u Uptime) Ratio() *float64 {
	all := u.Connected + u.Not
	if all <= 0 {
		return nil
	}
	return new(float64(u.Connected) / float64(all))
}
