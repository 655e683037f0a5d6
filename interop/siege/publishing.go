package main

import (
	"context"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// publishEach publishes events one after the other, and fails at the first that is not taken.
func publishEach(ctx context.Context, l *line, events ...*nostr.Event) error {
	if err := l.up(ctx); err != nil {
		return err
	}
	for _, e := range events {
		if ok, err := publish(ctx, l.c, e); err != nil {
			return err
		} else if !ok {
			return fmt.Errorf("an event of kind %d is refused", e.Kind)
		}
	}
	return nil
}
