package against

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Conn is an open connection to a relay.
type Conn interface {
	Read(context.Context) ([]byte, error)
	Write(context.Context, []byte) error
}

// Bounds of one request.
const (
	pageSize    = 500
	pageTime    = time.Minute // for the answer to one request
	mostRefused = 6           // times that a relay may ask for a pause, which doubles from firstPause on
	firstPause  = time.Second
)

// relay is the other side of a connection, one request at a time.
type relay struct {
	conn Conn
	n    int // requests so far
}

// Over returns an Asker of the relay at the other end of a connection. One goroutine at a time uses it.
func Over(c Conn) Asker {
	r := &relay{conn: c}
	return r.ask
}

// ask reads what matches backwards in time, page by page, until nothing is left.
func (r *relay) ask(ctx context.Context, f nostr.Filter, do func(*nostr.Event) error) error {
	seen := map[nostr.ID]bool{}
	f.Limit = new(pageSize)
	for {
		came, fresh, oldest := 0, 0, int64(0)
		err := r.page(ctx, f, func(e *nostr.Event) error {
			if !f.Matches(e) {
				return nil
			}
			if came++; came == 1 || e.CreatedAt < oldest {
				oldest = e.CreatedAt
			}
			if seen[e.ID] {
				return nil
			}
			fresh++
			seen[e.ID] = true
			return do(e)
		})
		if err != nil || came == 0 {
			return err
		}
		if fresh == 0 { // a whole page of one second: what is older comes next
			oldest--
		}
		f.Until = &oldest
	}
}

// page makes one request, and makes it again after a pause where the relay asks for one.
func (r *relay) page(ctx context.Context, f nostr.Filter, do func(*nostr.Event) error) error {
	for pause, tries := firstPause, 0; ; pause, tries = 2*pause, tries+1 {
		refused, err := r.request(ctx, f, do)
		switch {
		case err != nil || refused == "":
			return err
		case !strings.HasPrefix(refused, "rate-limited:") || tries == mostRefused:
			return fmt.Errorf("the relay refuses a request: %s", safetext.Printable(refused))
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}

// request makes one request. It returns the reason where the relay closes it.
func (r *relay) request(ctx context.Context, f nostr.Filter, do func(*nostr.Event) error) (refused string, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	r.n++
	sub := fmt.Sprint("against", r.n)
	if err := r.conn.Write(ctx, nostr.AppendReq(nil, sub, f)); err != nil {
		return "", err
	}
	for {
		b, err := r.conn.Read(ctx)
		if err != nil {
			return "", err
		}
		m, err := nostr.ParseRelay(b)
		if err != nil {
			continue // of no request here
		}
		switch m := m.(type) {
		case nostr.RelayEvent:
			if m.Sub == sub {
				if err := do(m.Event); err != nil {
					return "", err
				}
			}
		case nostr.EOSE:
			if m.Sub == sub {
				return "", r.conn.Write(ctx, nostr.AppendClose(nil, sub))
			}
		case nostr.Closed:
			if m.Sub == sub {
				return m.Reason, nil
			}
		}
	}
}
