package refusal

import (
	"slices"
	"time"
)

// Times, by the steady clock, and counts of what is remembered.
const (
	closedLately = 10 * time.Second // before a NOTICE a CLOSE may have been sent that was thrown away
	MostCloses   = 100              // CLOSEs that are remembered, the oldest going first
	answeredBy   = 5 * time.Second  // the relay has answered what has ended
	echoFor      = 30 * time.Second // for so long a refusal may come again
)

// Closes are the CLOSEs of a connection that may not have been heard. A relay that throws messages away says so by a NOTICE. A CLOSE among them
// leaves a REQ open there, which counts against the relay's limit for good. So what was closed shortly before is closed once more.
type Closes struct {
	sent  []sent   // in order
	again []string // to be sent once more, when the relay listens again
}

// sent is one CLOSE.
type sent struct {
	sub string
	at  time.Duration
}

// Sent notes that a CLOSE was sent.
func (c *Closes) Sent(sub string, now time.Duration) {
	for len(c.sent) > 0 && (len(c.sent) >= MostCloses || now-c.sent[0].at > closedLately) {
		c.sent = c.sent[1:]
	}
	c.sent = append(c.sent, sent{sub, now})
}

// Unheard records that the relay threw messages away: what was closed just now may not have been heard.
func (c *Closes) Unheard(now time.Duration) {
	for _, x := range c.sent {
		if now-x.at <= closedLately {
			c.again = append(c.again, x.sub)
		}
	}
	c.sent, c.again = nil, c.again[max(0, len(c.again)-MostCloses):]
}

// Again returns what is to be closed once more, and forgets it.
func (c *Closes) Again() []string {
	again := c.again
	c.again = nil
	return again
}

// Size counts what is remembered: CLOSEs, and those that are to be sent again.
func (c *Closes) Size() (sent, again int) { return len(c.sent), len(c.again) }

// Ended are requests that were ended for a NOTICE, as it may have been about them, and that the relay has not answered yet: another NOTICE may be about one
// of them, and is about nothing that was sent later.
type Ended struct{ sent []sent }

// Add notes a request that has ended.
func (e *Ended) Add(sub string, now time.Duration) {
	if len(e.sent) < MostCloses {
		e.sent = append(e.sent, sent{sub, now})
	}
}

// Answered notes that the relay has answered a request by its name.
func (e *Ended) Answered(sub string) {
	e.sent = slices.DeleteFunc(e.sent, func(x sent) bool { return x.sub == sub })
}

// Meant reports whether a NOTICE that comes now may be about one of them, and takes the first for answered.
func (e *Ended) Meant(now time.Duration) bool {
	e.sent = slices.DeleteFunc(e.sent, func(x sent) bool { return now > x.at+answeredBy })
	if len(e.sent) == 0 {
		return false
	}
	e.sent = e.sent[1:]
	return true
}

// Echo is the NOTICE by which a relay turned NIP-77 down: it comes once more for each NEG-CLOSE then sent, and is about nothing else.
type Echo struct {
	text  string
	left  int
	until time.Duration
}

// Expect notes that text may come again, for a NEG-CLOSE.
func (e *Echo) Expect(text string, now time.Duration) {
	if e.text != text {
		*e = Echo{text: text}
	}
	e.left++
	e.until = now + echoFor
}

// Heard says whether text is what was expected.
func (e *Echo) Heard(text string, now time.Duration) bool {
	if e.left == 0 || e.text != text || now > e.until {
		return false
	}
	e.left--
	return true
}
