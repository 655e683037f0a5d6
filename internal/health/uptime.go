package health

import "time"

// Uptime is for how long a server that is wanted was connected, and for how long it was not.
type Uptime struct{ Connected, Not time.Duration }

// Add counts some time.
func (u *Uptime) Add(connected bool, d time.Duration) {
	if connected {
		u.Connected += d
	} else {
		u.Not += d
	}
}

// Ratio is the share of the time connected, 0 to 1; nil while no time has passed.
func (u Uptime) Ratio() *float64 {
	all := u.Connected + u.Not
	if all <= 0 {
		return nil
	}
	return new(float64(u.Connected) / float64(all))
}
