package relay

import (
	"math"
	"time"
)

// bucketLevel is a token bucket by what was taken out of it; it refills at the rate, up to burstSeconds' worth.
type bucketLevel struct {
	taken float64
	at    time.Time
}

// charge takes tokens whether they are there or not.
func (b *bucketLevel) charge(now time.Time, tokens float64, rate int) {
	b.taken, b.at = b.takenAt(now, rate)+tokens, now
}

// wait is the time until there is a token; 0 when there is one.
func (b *bucketLevel) wait(now time.Time, rate int) time.Duration {
	lacking := b.takenAt(now, rate) + 1 - float64(burstSeconds*rate)
	if lacking <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(lacking / float64(rate) * float64(time.Second)))
}

func (b *bucketLevel) full(now time.Time, rate int) bool { return b.takenAt(now, rate) == 0 }

// takenAt is what is missing now. A clock that goes backwards refills nothing.
func (b *bucketLevel) takenAt(now time.Time, rate int) float64 {
	refilled := max(0, now.Sub(b.at).Seconds()) * float64(rate)
	return max(0, b.taken-refilled)
}
