package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"

	"graspd/internal/nostr"
)

// client is one connection.
type client struct{ ws *websocket.Conn }

func connect(ctx context.Context, url string) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(1 << 20)
	return &client{ws}, nil
}

func (c *client) write(ctx context.Context, frame []byte) error {
	return c.ws.Write(ctx, websocket.MessageText, frame)
}

func (c *client) read(ctx context.Context) (nostr.RelayMessage, error) {
	for {
		_, b, err := c.ws.Read(ctx)
		if err != nil {
			return nil, err
		}
		m, err := nostr.ParseRelay(b)
		if err != nil {
			return nil, fmt.Errorf("%.200s: %w", b, err)
		}
		if _, challenge := m.(nostr.AuthChallenge); !challenge {
			return m, nil
		}
	}
}

// publish waits for the OK.
func (c *client) publish(ctx context.Context, e *nostr.Event) error {
	if err := c.write(ctx, nostr.AppendEventMsg(nil, e)); err != nil {
		return err
	}
	m, err := c.read(ctx)
	if err != nil {
		return err
	}
	if ok, is := m.(nostr.OK); !is || !ok.OK || ok.ID != e.ID {
		return fmt.Errorf("not accepted: %+v", m)
	}
	return nil
}

// many runs f for 0 to n-1, some at once, until one fails.
func many(ctx context.Context, n, atOnce int, f func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := range next {
				if err := f(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}
