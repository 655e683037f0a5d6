package githttp

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"
)

// output writes the body of an answer, and gives its client time to read each piece of it. It has one user at a time.
type output struct {
	w     http.ResponseWriter
	c     *http.ResponseController
	until time.Time // by when the whole answer has to be sent
	begun bool      // something was written
	err   error     // the first error of writing, which ends the answer
	sent  *atomic.Uint64
}

func newOutput(w http.ResponseWriter, sent *atomic.Uint64) *output {
	return &output{w: w, c: http.NewResponseController(w), until: time.Now().Add(longest), sent: sent}
}

// Write writes p in pieces.
func (o *output) Write(p []byte) (n int, err error) {
	const piece = 64 << 10
	for n < len(p) && o.err == nil {
		if o.extend(); o.err != nil {
			break
		}
		o.begun = true
		var wrote int
		wrote, o.err = o.w.Write(p[n:min(len(p), n+piece)])
		n += wrote
		o.sent.Add(uint64(wrote))
	}
	return n, o.err
}

// Flush sends what net/http has buffered.
func (o *output) Flush() error {
	if o.err == nil {
		o.extend()
	}
	if o.err == nil {
		o.err = o.c.Flush()
	}
	return o.err
}

// extend sets the deadline for the next piece.
func (o *output) extend() {
	deadline := time.Now().Add(idleTime)
	if deadline.After(o.until) {
		deadline = o.until
	}
	if err := o.c.SetWriteDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		o.err = err
	}
}

// send writes a whole answer. It drops the error, as nobody can tell a client that does not read.
func (o *output) send(text []byte) { _, _ = o.Write(text) }
