package unasked

import "time"

// What a relay may send besides events. All of it answers something: EOSE, CLOSED and NEG messages a request, OK an event,
// a NOTICE whatever there was. A relay that sends more than it was given reason for only keeps this one busy.
const (
	repliesAtFirst  = 100              // on a connection on which nothing was sent yet
	repliesPerFrame = 4                // for each frame that was sent
	repliesEvery    = 10 * time.Second // one for nothing, such as news of its operator
	repliesMost     = 2000             // at most to its credit
)

// Replies is what a relay may still send on one connection. It is no token bucket: what is sent there earns more than time does.
type Replies struct {
	left  int
	sent  uint64 // frames counted so far
	since time.Duration
}

// NewReplies is that of a connection that opens at the time now, by the steady clock.
func NewReplies(now time.Duration) Replies { return Replies{left: repliesAtFirst, since: now} }

// Take counts a frame that is no event, and reports whether the relay had reason to send it. sent is the number of frames
// that were sent to it.
func (r *Replies) Take(now time.Duration, sent uint64) bool {
	idle := max(0, now-r.since) / repliesEvery
	r.since += idle * repliesEvery
	r.left = min(repliesMost, r.left+int(idle)+repliesPerFrame*int(sent-r.sent))
	r.sent = sent
	if r.left == 0 {
		return false
	}
	r.left--
	return true
}
