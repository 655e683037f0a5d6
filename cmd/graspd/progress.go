package main

import (
	"fmt"
	"io"
	"time"
)

// progress shows on a terminal how far a long piece of work has come, in one line. Elsewhere it is silent.
type progress struct {
	w     io.Writer // nil for none
	shown bool
	next  time.Time
}

func newProgress(w io.Writer) *progress {
	if isTerminal(w) {
		return &progress{w: w}
	}
	return new(progress)
}

// show tells how many events are done, five times a second at most.
func (p *progress) show(done, all int64) {
	if now := time.Now(); p.w != nil && now.After(p.next) {
		p.next, p.shown = now.Add(time.Second/5), true
		fmt.Fprintf(p.w, "\r%d of about %d events\x1b[K", done, max(done, all))
	}
}

// end clears the line.
func (p *progress) end() {
	if p.shown {
		p.shown = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
