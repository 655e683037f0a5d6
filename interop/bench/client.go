package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/interop/wire"
)

// client is one connection to graspd or another relay.
type client struct{ *wire.Client }

func connect(ctx context.Context, url string) (*client, error) {
	c, err := wire.Dial(ctx, url)
	return &client{c}, err
}

// publish sends events without waiting, and then waits until all are taken.
func (c *client) publish(ctx context.Context, events ...*nostr.Event) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		for _, e := range events {
			if err := c.Send(ctx, nostr.AppendEventMsg(nil, e)); err != nil {
				cancel(err)
				return
			}
		}
	}()
	for range events {
		m, err := c.Receive(ctx)
		if err != nil {
			return err
		}
		if ok, is := m.(nostr.OK); !is || !ok.OK {
			return fmt.Errorf("not accepted: %+v", m)
		}
	}
	return nil
}

// request asks for stored events and reads them without parsing all: it returns how many came and the oldest time of them.
func (c *client) request(ctx context.Context, f nostr.Filter) (n int, oldest int64, err error) {
	if err := c.Send(ctx, nostr.AppendReq(nil, "q", f)); err != nil {
		return 0, 0, err
	}
	var last []byte
	for {
		b, err := c.Frame(ctx)
		if err != nil {
			return n, 0, err
		}
		if bytes.HasPrefix(b, []byte(`["EVENT"`)) {
			n, last = n+1, b
			continue
		}
		if bytes.HasPrefix(b, []byte(`["EOSE"`)) {
			break
		}
		if !bytes.HasPrefix(b, []byte(`["AUTH"`)) {
			return n, 0, fmt.Errorf("instead of EOSE: %.200s", b)
		}
	}
	if err := c.Send(ctx, nostr.AppendClose(nil, "q")); err != nil || n == 0 {
		return n, 0, err
	}
	m, err := nostr.ParseRelay(last)
	if err != nil {
		return n, 0, err
	}
	return n, m.(nostr.RelayEvent).Event.CreatedAt, nil
}

func sign(by nostr.SecretKey, at int64, kind nostr.Kind, content string, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{CreatedAt: at, Kind: kind, Tags: tags, Content: content}
	if err := by.Sign(e, [32]byte{}); err != nil {
		panic(err) // key and event are our own
	}
	return e
}

// key is that of person n.
func key(n int) nostr.SecretKey {
	return nostr.SecretKey{0: 1, 1: 0x5e, 29: byte(n >> 16), 30: byte(n >> 8), 31: byte(n)}
}

// comment is one on a root event.
func comment(by nostr.SecretKey, at int64, root nostr.ID, text string) *nostr.Event {
	id := root.String()
	return sign(by, at, nostr.KindComment, text, nostr.Tag{"E", id}, nostr.Tag{"K", "1621"}, nostr.Tag{"e", id}, nostr.Tag{"k", "1621"})
}
