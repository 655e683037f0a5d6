package gitfetch

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// paceOver is how long a server's pace is measured before it counts.
const paceOver = time.Minute

// wire reads from a connection, and gives up where nothing comes, or too little. Only time that is spent waiting for the server counts: a
// caller that takes its time with a pack is not the server's fault.
type wire struct {
	net.Conn
	bounds *Bounds
	came   func(n int) // told of bytes

	begun  bool          // the first byte of this answer has come
	waited time.Duration // for the bytes of this measurement
	got    int64         // bytes in it
	over   time.Duration // that it lasts
	err    error         // the first error of reading, for ever
	unsent error         // the first of writing
}

// begin comes before each answer.
func (w *wire) begin() {
	w.begun = false
	w.measure(paceOver)
}

// measure begins a new measurement of the pace, which lasts at least for over.
func (w *wire) measure(over time.Duration) { w.waited, w.got, w.over = 0, 0, over }

func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if w.unsent == nil {
		w.unsent = err
	}
	return n, err
}

func (w *wire) Read(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	patience := w.bounds.Answer
	if w.begun {
		patience = w.bounds.Silence
	}
	before := time.Now()
	if w.err = w.SetReadDeadline(before.Add(patience)); w.err != nil {
		return 0, w.err
	}
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.came(n)
		w.pace(n, time.Since(before))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: nothing came for %v", ErrSilent, patience)
	}
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// pace counts n bytes, and the time for which the connection has waited for them. The time before the first byte of an answer does not
// count: the server works then.
func (w *wire) pace(n int, waited time.Duration) {
	if w.begun {
		w.waited += waited
	}
	w.begun = true
	w.got += int64(n)
	if w.waited < w.over {
		return
	}
	if least := w.bounds.Slow * int64(w.waited/time.Second); w.got < least {
		w.err = fmt.Errorf("%w: %d bytes in %v", ErrSilent, w.got, w.waited.Round(time.Second))
	}
	w.measure(paceOver)
}
