// Package backoff remembers how a server fares to which graspd connects again and again: failures in a row and how long to wait after
// them, when the server counts as dead, how long it was connected. All types are values. Callers tell the time, and randomness comes from
// a hash, so that a run can be repeated. Read Failures first.
package backoff

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Now is a reading of both clocks. An age is the larger of the two differences, so
// that neither a suspended machine nor a clock that was set hides time.
type Now struct {
	Mono time.Duration // since any fixed point
	Wall time.Time
}

// Since returns the age of an earlier reading.
func (n Now) Since(t Now) time.Duration { return max(n.Mono-t.Mono, n.Wall.Sub(t.Wall)) }

// Before returns the reading of both clocks d ago.
func (n Now) Before(d time.Duration) Now { return Now{Mono: n.Mono - d, Wall: n.Wall.Add(-d)} }

// Never is later than any time.
const Never = time.Duration(1<<63 - 1)

// Later returns at, if that is still to come; else Never.
func Later(at, now time.Duration) time.Duration {
	if at > now {
		return at
	}
	return Never
}

// Policy says when graspd tries a server again.
type Policy struct {
	Self [32]byte // who tries
	URL  string   // the server that is tried; Self and URL together decide the random part of a wait

	BaseBackoff, MaxBackoff time.Duration // the first wait, which doubles, and the longest
	DeadAfter, DeadRetry    time.Duration // after how long a time of failure the server counts as dead, and how long to wait between attempts then
}

// Failures counts failed attempts since the last progress. The zero Failures has none.
type Failures struct {
	N       int
	First   Now  // when the first failure was
	Flooded bool // one failure was a flood of bad answers: only time without another flood is progress
}

// Progress forgets the failures of a server that has done what it was asked, unless it has flooded.
func (f *Failures) Progress() {
	if !f.Flooded {
		*f = Failures{}
	}
}

// Count adds a failure and returns how long to wait before the next attempt.
func (f *Failures) Count(policy Policy, now Now) time.Duration {
	if f.N == 0 {
		f.First = now
	}
	f.N++
	if f.Dead(policy, now) {
		return policy.DeadRetry
	}
	return policy.Backoff(f.N)
}

// Dead reports whether the server has failed without a break for DeadAfter.
func (f *Failures) Dead(policy Policy, now Now) bool {
	return f.N > 0 && now.Since(f.First) >= policy.DeadAfter
}

// Backoff returns how long to wait after so many attempts (from 1): BaseBackoff,
// doubled with each further attempt, up to MaxBackoff. It adds up to a quarter from
// a hash, so that graspd does not try all servers at once, and a run can be repeated.
func (policy Policy) Backoff(attempt int) time.Duration {
	d := policy.BaseBackoff
	for i := 1; i < attempt && d < policy.MaxBackoff; i++ {
		d *= 2
	}
	d = min(d, policy.MaxBackoff)
	return d + time.Duration(float64(d)/4*policy.Jitter(uint64(attempt)))
}

// LongestWait returns the longest time that Backoff can return.
func (policy Policy) LongestWait() time.Duration { return policy.MaxBackoff + policy.MaxBackoff/4 }

// Jitter maps Self, URL and a number to [0, 1).
func (policy Policy) Jitter(n uint64) float64 {
	h := sha256.New()
	h.Write(policy.Self[:])
	h.Write([]byte(policy.URL))
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	h.Write(b[:])
	return float64(binary.BigEndian.Uint64(h.Sum(nil))>>11) / (1 << 53)
}

// Bounds of RetryDelay.
const (
	FirstRetry = time.Minute
	maxRetry   = time.Hour
)

// RetryDelay returns how long a request waits that has failed so often while the relay stayed connected: a minute, doubled each time, up to
// an hour.
func RetryDelay(tries int) time.Duration {
	d := FirstRetry
	for i := 1; i < tries && d < maxRetry; i++ {
		d *= 2
	}
	return min(d, maxRetry)
}
