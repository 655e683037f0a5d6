package plan

import (
	"time"

	"github.com/graspd/graspd/internal/step"
)

// A relay that throws messages away says so by a NOTICE that names none of them.
// A CLOSE among them leaves a REQ open there, which counts against the relay's
// limit for good. So what was closed shortly before is closed once more.

// closedLately is how long before such a NOTICE a CLOSE may have been sent.
const closedLately = 10 * time.Second

// mostReclosed bounds the CLOSEs that are remembered, the oldest going first.
const mostReclosed = 100

// closes are the CLOSEs of a connection that may not have been heard.
type closes struct {
	sent  []sentClose // in order
	again []string    // to be sent once more, when the relay listens again
}

type sentClose struct {
	sub string
	at  time.Duration
}

// closeReq sends CLOSE for a REQ.
func (w *wire) closeReq(sub string) {
	c := &w.closes
	for len(c.sent) > 0 && (len(c.sent) >= mostReclosed || w.now.Mono-c.sent[0].at > closedLately) {
		c.sent = c.sent[1:]
	}
	c.sent = append(c.sent, sentClose{sub, w.now.Mono})
	w.effect(step.CloseRequest{Sub: sub})
}

// unheard notes that what was closed just now may not have been.
func (c *closes) unheard(now time.Duration) {
	for _, x := range c.sent {
		if now-x.at <= closedLately {
			c.again = append(c.again, x.sub)
		}
	}
	c.sent, c.again = nil, c.again[max(0, len(c.again)-mostReclosed):]
}

// closeAgain sends the CLOSEs that may have been thrown away, after the pause.
func (w *wire) closeAgain() {
	if w.paused() {
		return
	}
	again := w.again
	w.again = nil
	for _, sub := range again {
		w.closeReq(sub)
	}
}
