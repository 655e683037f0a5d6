// Package relayread reads once, on somebody's order, all that a relay has of a filter. relaysync follows relays; this package keeps nothing of them.
package relayread

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/paging"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
)

// Conn is an open connection to a relay.
type Conn interface {
	Read(context.Context) ([]byte, error)
	Write(context.Context, []byte) error
}

// Bounds of one request.
const (
	pageSize    = 500
	mostEvents  = pageSize + 10_000 // that are read of an answer
	pageTime    = time.Minute       // for the answer
	mostRefused = 6                 // times that a relay may ask for a pause, which doubles from firstPause on
	firstPause  = time.Second
)

// errFlood ends the reading from a relay that keeps to no limit.
var errFlood = errors.New("the relay sends more than it was asked for")

// Reader reads from the relay at the other end of a connection, one request at a time. One goroutine at a time uses it.
type Reader struct {
	conn     Conn
	habits   paging.Habits
	n        int // requests so far
	unproven bool
}

// New returns a Reader of a connection.
func New(c Conn) *Reader { return &Reader{conn: c} }

// Unproven reports whether the relay may have events that it did not send, as paging.Pager has it.
func (r *Reader) Unproven() bool { return r.unproven }

// Read calls do with each event of the relay that matches f, with some more than once. Nobody has verified their signatures.
func (r *Reader) Read(ctx context.Context, f nostr.Filter, do func(*nostr.Event) error) error {
	p := paging.New(paging.From(0), &r.habits)
	f.Limit = new(pageSize)
	for span, more := p.Next(); more; span, more = p.Next() {
		if err := r.page(ctx, span.Narrow(f), p, do); err != nil {
			return err
		}
		p.Done(pageSize)
	}
	r.unproven = r.unproven || p.Unproven()
	return nil
}

// page makes one request, and makes it again after a pause where the relay asks for one.
func (r *Reader) page(ctx context.Context, f nostr.Filter, p *paging.Pager, do func(*nostr.Event) error) error {
	for pause, tries := firstPause, 0; ; pause, tries = 2*pause, tries+1 {
		refused, err := r.request(ctx, f, p, do)
		if err != nil || refused == "" {
			return err
		}
		if why := refusal.Of(refused); why != refusal.Rate && why != refusal.TooMany || tries == mostRefused {
			return fmt.Errorf("the relay refuses a request: %s", safetext.Printable(refused))
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
		p.Again()
	}
}

// request makes one request. It returns the reason where the relay closes it.
func (r *Reader) request(ctx context.Context, f nostr.Filter, p *paging.Pager, do func(*nostr.Event) error) (refused string, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	r.n++
	sub := fmt.Sprint("read", r.n)
	if err := r.conn.Write(ctx, nostr.AppendReq(nil, sub, f)); err != nil {
		return "", err
	}
	for came := 0; ; {
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
			if m.Sub != sub {
				continue
			}
			if came++; came > mostEvents {
				return "", errFlood
			}
			if f.Matches(m.Event) {
				p.Received(m.Event.ID, m.Event.CreatedAt)
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
				return cmp.Or(m.Reason, "without a reason"), nil
			}
		}
	}
}
