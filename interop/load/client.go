package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/interop/wire"
)

// client is one connection to graspd or another relay.
type client struct{ *wire.Client }

func connect(ctx context.Context, url string) (*client, error) {
	c, err := wire.Dial(ctx, url)
	return &client{c}, err
}

// publish waits for the OK.
func (c *client) publish(ctx context.Context, e *nostr.Event) error {
	if err := c.Send(ctx, nostr.AppendEventMsg(nil, e)); err != nil {
		return err
	}
	m, err := c.Receive(ctx)
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
