package unsolicited

import "time"

// How many messages a relay may send besides events. Such a message answers something: EOSE, CLOSED and NEG messages a
// request, OK an event, NOTICE anything. A relay that sends more than it had reason for only keeps this one busy.
const (
	repliesAtFirst  = 100              // on a connection on which we have sent nothing yet
	repliesPerFrame = 4                // for each frame that we send
	repliesEvery    = 10 * time.Second // after each such time one more, such as news of the relay's operator
	repliesMost     = 2000             // the most that a relay may have to its credit
)

// Replies counts how many messages a relay may still send on one connection. It is no token bucket: frames that we send earn
// more than time does.
type Replies struct {
	left  int
	sent  uint64 // frames counted so far
	since time.Duration
}

// NewReplies returns the Replies of a connection that opens at the time now, by the steady clock.
func NewReplies(now time.Duration) Replies { return Replies{left: repliesAtFirst, since: now} }

// Take counts a frame that is no event, and reports whether the relay had reason to send it. sent is how many frames we have
// sent to the relay.
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
