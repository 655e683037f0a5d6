package relay_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// honest publishes, follows what it published and asks for it, as if nobody else were there. It calls ready once it is connected.
func (h *hostile) honest(ctx context.Context, ready func()) {
	defer ready()
	if err := h.serveOne(ctx, ready); err != nil {
		h.t.Errorf("the honest client: %v", err)
	}
}

func (h *hostile) serveOne(ctx context.Context, ready func()) error {
	all, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*hostilePatience)
	defer cancel()
	here := netip.AddrFrom4([4]byte{127, 8, 0, 1})
	writer, _, err := h.dial(all, here, "", 0)
	if err != nil {
		return err
	}
	defer writer.CloseNow()
	reader, _, err := h.dial(all, here, "", 0)
	if err != nil {
		return err
	}
	defer reader.CloseNow()
	author := nostr.Filter{Authors: []nostr.PubKey{testkit.Someone(honestUser)}}
	follow := author
	follow.Limit = new(0)
	// So that it is not idle while it waits for the other one.
	if err := writer.Write(all, websocket.MessageText, nostr.AppendReq(nil, "stay", nostr.Filter{IDs: []nostr.ID{{}}, Limit: new(0)})); err != nil {
		return err
	}
	if _, err := next(all, writer, nostr.AppendEOSE(nil, "stay")); err != nil {
		return err
	}
	if err := reader.Write(all, websocket.MessageText, nostr.AppendReq(nil, "follow", follow)); err != nil {
		return err
	}
	if _, err := next(all, reader, nostr.AppendEOSE(nil, "follow")); err != nil {
		return err
	}
	ready()
	var published []*nostr.Event
	var took []time.Duration
	for begun := time.Now(); ctx.Err() == nil; sleep(ctx, 50*time.Millisecond) {
		e := testkit.Mark(testkit.Someone(honestUser), begun.Unix()-1000+int64(len(published)), nip34.KindIssue, fmt.Sprint(len(published)), nostr.Tag{"a", h.pool.addresses[0]})
		sent := time.Now()
		if err := writer.Write(all, websocket.MessageText, nostr.AppendEventMsg(nil, e)); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		if _, err := next(all, writer, nostr.AppendOK(nil, e.ID, true, "")); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		took = append(took, time.Since(sent))
		if _, err := next(all, reader, nostr.AppendRelayEvent(nil, "follow", e.AppendJSON(nil))); err != nil {
			return fmt.Errorf("follow: %w", err)
		}
		published = append(published, e)
	}
	h.tally.add("events of the honest client", len(published))
	slices.Sort(took)
	if n := len(took); n > 0 {
		h.t.Logf("the honest client's publish took %v, %v at most", took[n/2].Round(time.Millisecond/10), took[n-1].Round(time.Millisecond/10))
	}
	return h.askAll(all, writer, author, published)
}

// askAll asks for all that was published, page by page.
func (h *hostile) askAll(ctx context.Context, c *websocket.Conn, f nostr.Filter, published []*nostr.Event) error {
	slices.Reverse(published)
	for page := 0; len(published) > 0; page++ {
		f.Until = new(published[0].CreatedAt)
		sub := fmt.Sprint("page", page)
		if err := c.Write(ctx, websocket.MessageText, nostr.AppendReq(nil, sub, f)); err != nil {
			return err
		}
		for n := 0; ; n++ {
			b, err := next(ctx, c, nil)
			if err != nil {
				return fmt.Errorf("ask: %w", err)
			}
			if string(b) == string(nostr.AppendEOSE(nil, sub)) {
				if n == 0 {
					return fmt.Errorf("ask: %d are missing", len(published))
				}
				break
			}
			if len(published) == 0 || string(b) != string(nostr.AppendRelayEvent(nil, sub, published[0].AppendJSON(nil))) {
				return fmt.Errorf("ask: came %.300s, %d are left", b, len(published))
			}
			published = published[1:]
		}
		if err := c.Write(ctx, websocket.MessageText, nostr.AppendClose(nil, sub)); err != nil {
			return err
		}
	}
	return nil
}

// next is the next frame but challenges; it must be want, unless that is nil.
func next(ctx context.Context, c *websocket.Conn, want []byte) ([]byte, error) {
	for {
		_, b, err := c.Read(ctx)
		if err != nil {
			return nil, err
		}
		if string(b) == `["AUTH","`+challenge+`"]` {
			continue
		}
		if want != nil && string(b) != string(want) {
			return nil, fmt.Errorf("got %.300s, want %.300s", b, want)
		}
		return b, nil
	}
}
