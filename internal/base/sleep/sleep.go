// Package sleep waits for some time to pass, for as long as somebody still wants what comes after.
package sleep

import (
	"context"
	"time"
)

// For returns nil once d has passed, and at once where d is 0 or less. When ctx ends first, or has ended already, it gives the cause.
func For(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
