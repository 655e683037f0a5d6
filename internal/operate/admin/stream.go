package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/graspd/graspd/internal/operate/admin/pagediff"
)

const (
	streamTime  = 2 * time.Second  // between two looks
	quietTime   = 20 * time.Second // between two signs of life while nothing changes
	mostStreams = 16               // open streams; a page beyond shows only the state with which it was loaded
	writeTime   = 20 * time.Second
)

// stream sends the changes of a page as server-sent events, until the client leaves or the pages close. The parameter of is the link to the page,
// and version the state with which the page was loaded. The id of each event is the version that it leads to, so that a browser that comes back
// says what it shows.
func (p *Pages) stream(w http.ResponseWriter, r *http.Request) {
	where, err := streamOf(r.FormValue("of"))
	if err != nil {
		answer(w, http.StatusBadRequest, err.Error())
		return
	}
	select {
	case p.streams <- struct{}{}:
		defer func() { <-p.streams }()
	default:
		answer(w, http.StatusServiceUnavailable, "too many pages are open")
		return
	}
	version := r.Header.Get("Last-Event-ID")
	if version == "" {
		version = r.FormValue("version")
	}
	out := http.NewResponseController(w)
	head(w, "text/event-stream")
	w.WriteHeader(http.StatusOK)
	tick := time.NewTicker(streamTime)
	defer tick.Stop()
	p.rendering.Lock()
	shown := p.recent.get(version)
	p.rendering.Unlock()
	var said time.Time
	for {
		message, now := p.changes(r.Context(), where, version, shown)
		if message == "" && time.Since(said) >= quietTime {
			message = ":\n\n" // a sign of life, by which the server notices a client that has left
		}
		if message != "" {
			// A writer that is not a connection has no deadline.
			_ = out.SetWriteDeadline(time.Now().Add(writeTime))
			if _, err := fmt.Fprint(w, message); err != nil {
				return
			}
			if err := out.Flush(); err != nil {
				return
			}
			said = time.Now()
		}
		if now != nil {
			shown, version = &now.cells, now.Version
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-p.closed:
			return
		}
	}
}

// streamOf returns the page that the link of a stream names.
func streamOf(link string) (where, error) {
	u, err := url.Parse(link)
	if err != nil {
		return where{}, errors.New("of: want a link to a page")
	}
	return parseWhere(u.Path, u.Query())
}

// changes returns the event that leads from what the browser shows to the page as it is now; "" where nothing has changed, or where the page is
// gone.
func (p *Pages) changes(ctx context.Context, at where, version string, shown *pagediff.Page) (string, *document) {
	p.rendering.Lock()
	now, err := p.document(ctx, at)
	p.rendering.Unlock()
	if err != nil || now.Version == version {
		return "", now
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %s\ndata: ", now.Version)
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false) // a script reads it
	if err := out.Encode(pagediff.Diff(shown, &now.cells)); err != nil {
		return "", nil
	}
	b.WriteByte('\n') // a second one behind that of the encoder ends the event
	return b.String(), now
}
