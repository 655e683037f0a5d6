// Package bucket has the one token bucket of graspd. It bounds how much of something may happen at once, and how fast it may
// go on. A Bucket is a plain value without a lock or a clock: its owner says what time it is and at what rate it fills. Read
// Bucket, then Charge and Spend, which differ in what an empty bucket does. Usage compares parties that take turns by what each used lately.
package bucket

import "time"

// Rate is how fast a bucket fills and how much it holds.
type Rate struct {
	Tokens int           // tokens that come back in the time In, one after another; at least 1
	In     time.Duration // more than 0
	Burst  int           // tokens in a full bucket
}

// time returns how long so many tokens take to come back. It rounds down, so that one can take all tokens of a full bucket one by one.
func (r Rate) time(tokens float64) time.Duration {
	return time.Duration(tokens * float64(r.In) / float64(r.Tokens))
}

// Bucket is a bucket of tokens; the zero Bucket is full. Use a Bucket with one Rate only, and by one goroutine at a time.
type Bucket struct {
	owed time.Duration // how long the bucket takes to be full, as of the time at
	at   time.Time
}

// Charge takes tokens whether they are there or not. The missing tokens have to come back before anybody can take one again.
func (b *Bucket) Charge(now time.Time, r Rate, tokens float64) {
	b.owed, b.at = b.Owed(now)+r.time(tokens), now
}

// Spend takes as many of the tokens as are there.
func (b *Bucket) Spend(now time.Time, r Rate, tokens float64) {
	owed := b.Owed(now)
	b.owed, b.at = max(owed, min(owed+r.time(tokens), r.time(float64(r.Burst)))), now
}

// Take takes a token, and reports whether there was one.
func (b *Bucket) Take(now time.Time, r Rate) bool {
	if b.Wait(now, r) > 0 {
		return false
	}
	b.Charge(now, r, 1)
	return true
}

// Wait returns how long it takes until there is a token; 0 when there is one.
func (b *Bucket) Wait(now time.Time, r Rate) time.Duration {
	return max(0, b.Owed(now)+r.time(1)-r.time(float64(r.Burst)))
}

// Full reports whether the bucket is full, as a new one is.
func (b *Bucket) Full(now time.Time) bool { return b.Owed(now) == 0 }

// Owed returns how long the bucket takes from now on until it is full. A clock that was set back brings no tokens back.
func (b *Bucket) Owed(now time.Time) time.Duration {
	return max(0, b.owed-max(0, now.Sub(b.at)))
}
