// Package bucket holds the one token bucket of graspd: how much of something may happen at once, and how fast it may go on.
// A Bucket is a plain value without a lock or a clock, so whoever owns it says what time it is and at what rate it fills.
// Read Bucket, then Charge and Spend, which differ in what an empty bucket does.
package bucket

import "time"

// Rate is how fast a bucket fills and how much it holds.
type Rate struct {
	Tokens int           // that come back in the time In, one after another; at least 1
	In     time.Duration // more than 0
	Burst  int           // tokens in a full bucket
}

// time is how long so many tokens take to come back. It is rounded down, so that a full bucket has all its tokens one by one.
func (r Rate) time(tokens float64) time.Duration {
	return time.Duration(tokens * float64(r.In) / float64(r.Tokens))
}

// Bucket is what was taken out of a bucket; the zero value is a full one. It is used with one Rate, and by one goroutine at a
// time.
type Bucket struct {
	owed time.Duration // until it was full again, at the time at
	at   time.Time
}

// Charge takes tokens whether they are there or not. Those that were not there come back first.
func (b *Bucket) Charge(now time.Time, r Rate, tokens float64) {
	b.owed, b.at = b.Owed(now)+r.time(tokens), now
}

// Spend takes tokens as far as they are there.
func (b *Bucket) Spend(now time.Time, r Rate, tokens float64) {
	owed := b.Owed(now)
	b.owed, b.at = max(owed, min(owed+r.time(tokens), r.time(float64(r.Burst)))), now
}

// Take takes a token, or reports that there is none.
func (b *Bucket) Take(now time.Time, r Rate) bool {
	if b.Wait(now, r) > 0 {
		return false
	}
	b.Charge(now, r, 1)
	return true
}

// Wait is the time until there is a token; 0 when there is one.
func (b *Bucket) Wait(now time.Time, r Rate) time.Duration {
	return max(0, b.Owed(now)+r.time(1)-r.time(float64(r.Burst)))
}

// Full reports whether the bucket is like a new one.
func (b *Bucket) Full(now time.Time) bool { return b.Owed(now) == 0 }

// Owed is how long the bucket takes from now on until it is full. A clock that was set back gives nothing back.
func (b *Bucket) Owed(now time.Time) time.Duration {
	return max(0, b.owed-max(0, now.Sub(b.at)))
}
