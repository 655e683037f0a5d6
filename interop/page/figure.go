package page

import "time"

// Figure is how long an honest client waited for one kind of request beside an attack, as the siege measures and the bench shows it.
type Figure struct {
	Attack, Request string
	Before, Under   time.Duration // medians: without the attack, and under it
	Slowest         time.Duration // 99 of 100 answers came within that time under the attack
	Unanswered      int           // requests that were refused or lost under it
}

// Ratio is how many times as long the client waited.
func (f Figure) Ratio() float64 { return f.Under.Seconds() / f.Before.Seconds() }
