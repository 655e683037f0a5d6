package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	streamTime  = 2 * time.Second // between two looks
	mostStreams = 16              // pages that are kept up to date at once; more are refused, and show what they were loaded with
	writeTime   = 20 * time.Second
)

// change is one part of the page as it is now.
type change struct {
	Part string `json:"part"`
	HTML string `json:"html"`
}

// stream sends what has changed of the page, as server-sent events, until the
// client leaves or the pages close.
func (p *Pages) stream(w http.ResponseWriter, r *http.Request) {
	select {
	case p.streams <- struct{}{}:
		defer func() { <-p.streams }()
	default:
		answer(w, http.StatusServiceUnavailable, "too many pages are open")
		return
	}
	out := http.NewResponseController(w)
	head(w, "text/event-stream")
	w.WriteHeader(http.StatusOK)
	tick := time.NewTicker(streamTime)
	defer tick.Stop()
	var sent rendered
	for {
		now, err := p.render(r.Context())
		if err != nil {
			return
		}
		// A writer that is not a connection has no deadline.
		_ = out.SetWriteDeadline(time.Now().Add(writeTime))
		for _, name := range parts {
			if now.html[name] == sent.html[name] {
				continue
			}
			b, err := json.Marshal(change{name, string(now.html[name])})
			if err != nil {
				return
			}
			if _, err := fmt.Fprintf(w, "data: %s\n\n", b); err != nil {
				return
			}
		}
		if _, err := fmt.Fprint(w, ":\n\n"); err != nil { // so that a client that left is noticed
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
		sent = now
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-p.closed:
			return
		}
	}
}
