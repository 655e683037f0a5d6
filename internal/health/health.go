// Package health keeps count of how a server fares that is connected to again and again: failures in a row and how long to wait after
// them, when it counts as dead, how long it was there. All of it is values; the time is told, and what is random comes from a hash, so
// that a run can be repeated. Read Failures first.
package health

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/graspd/graspd/internal/nostr"
)

// Now is a reading of both clocks. Ages are the larger of the two differences, so
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

// Terms are those on which a server is tried again.
type Terms struct {
	Self nostr.PubKey // who tries
	URL  string       // whom; with Self it says where in the spread of a wait it is tried

	BaseBackoff, MaxBackoff time.Duration // the first wait, which doubles, and the longest
	DeadAfter, DeadRetry    time.Duration // unbroken failure after which it is dead, and how often it is tried then
}

// Failures counts failed attempts since the last progress. The zero value is none.
type Failures struct {
	N       int
	First   Now  // when the first of them was
	Flooded bool // one of them was a flood of bad answers: only time without another one is progress
}

// Progress forgets the failures of a server that has done what was asked.
func (f *Failures) Progress() {
	if !f.Flooded {
		*f = Failures{}
	}
}

// Count adds a failure and returns how long to wait before the next attempt.
func (f *Failures) Count(t Terms, now Now) time.Duration {
	if f.N == 0 {
		f.First = now
	}
	f.N++
	if f.Dead(t, now) {
		return t.DeadRetry
	}
	return t.Backoff(f.N)
}

// Dead says whether the server has failed without a break for too long.
func (f *Failures) Dead(t Terms, now Now) bool {
	return f.N > 0 && now.Since(f.First) >= t.DeadAfter
}

// Backoff doubles from the base to the maximum with the attempts (from 1) and
// adds up to a quarter from a hash, so that servers are not all tried at once
// and a run can be repeated.
func (t Terms) Backoff(attempt int) time.Duration {
	d := t.BaseBackoff
	for i := 1; i < attempt && d < t.MaxBackoff; i++ {
		d *= 2
	}
	d = min(d, t.MaxBackoff)
	return d + time.Duration(float64(d)/4*t.Jitter(uint64(attempt)))
}

// LongestWait is the most that Backoff returns.
func (t Terms) LongestWait() time.Duration { return t.MaxBackoff + t.MaxBackoff/4 }

// Jitter maps who, whom and a number to [0, 1).
func (t Terms) Jitter(n uint64) float64 {
	h := sha256.New()
	h.Write(t.Self[:])
	h.Write([]byte(t.URL))
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

// RetryDelay is how long a request waits that failed so often at a relay which is connected: a minute, doubled each time, up to an hour.
func RetryDelay(tries int) time.Duration {
	d := FirstRetry
	for i := 1; i < tries && d < maxRetry; i++ {
		d *= 2
	}
	return min(d, maxRetry)
}
